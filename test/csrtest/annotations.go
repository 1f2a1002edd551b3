// SPDX-License-Identifier: Apache-2.0

// Package csrtest is for tests that submit the CSRs of nodes: those of hosts with a join token, and hostile ones.
package csrtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// Subject returns the subject of a node.
func Subject(node string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
}

// Sign returns the annotations that sign a key with a join token, for the cluster of ca.
func Sign(t *testing.T, token *enrollment.Token, ca []byte, key crypto.PublicKey) map[string]string {
	t.Helper()
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	annotations, err := token.Sign(cluster, key)
	if err != nil {
		t.Fatal(err)
	}
	return annotations
}

// AnnotateCertificate returns the annotation with a certificate for a key.
func AnnotateCertificate(
	t *testing.T, ca *certtest.CA, key *ecdsa.PrivateKey, template x509.Certificate,
) map[string]string {
	t.Helper()
	block, _ := pem.Decode(ca.Issue(t, key, &template))
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{enrollment.AnnotationCertificate: enrollment.EncodeCertificate(certificate)}
}

// Name returns the name that join gives to a node's client CSR.
func Name(t *testing.T, key *ecdsa.PrivateKey, node string) string {
	t.Helper()
	name, err := enrollment.ClientCSRName(&key.PublicKey, node)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
