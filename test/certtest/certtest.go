// SPDX-License-Identifier: Apache-2.0

// Package certtest creates keys, certificate authorities (CAs) and certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// NewKey returns a new key.
func NewKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// KeyPEM returns a key in the format that kubelet writes.
func KeyPEM(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return PEM("EC PRIVATE KEY", der)
}

// PEM returns an encoded PEM block.
func PEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// CA is a certificate authority.
type CA struct {
	Certificate *x509.Certificate
	PEM         []byte // certificate
	Key         *ecdsa.PrivateKey
}

// NewCA returns a new CA with names like those of HyperShift.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	key := NewKey(t)
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, OrganizationalUnit: []string{"openshift"}},
		NotBefore: time.Now().Add(-1000 * time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := sign(t, template, template, key, key)
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{Certificate: certificate, PEM: PEM("CERTIFICATE", der), Key: key}
}

// Issue returns a signed certificate for a key, in PEM. If the template has no validity
// period, the certificate is valid from one hour ago until one hour from now.
func (ca *CA) Issue(t testing.TB, key *ecdsa.PrivateKey, template *x509.Certificate) []byte {
	t.Helper()
	return PEM("CERTIFICATE", ca.sign(t, key, template))
}

// IssueServing returns a serving certificate for one name or address, like those of HyperShift's
// servers.
func (ca *CA) IssueServing(t testing.TB, name string, edit ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "ignition-server"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if address := net.ParseIP(name); address != nil {
		template.IPAddresses = []net.IP{address}
	} else {
		template.DNSNames = []string{name}
	}
	for _, e := range edit {
		e(template)
	}
	key := NewKey(t)
	der := ca.sign(t, key, template)
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (ca *CA) sign(t testing.TB, key *ecdsa.PrivateKey, template *x509.Certificate) []byte {
	t.Helper()
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	return sign(t, template, ca.Certificate, key, ca.Key)
}

func sign(t testing.TB, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
