// SPDX-License-Identifier: Apache-2.0

package ignitionserver

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/pki"
)

// servingCertificates creates the valid certificate and the invalid ones. Each contains exactly
// one name, like HyperShift's.
func servingCertificates(authority *pki.Authority, host string) (map[string]*tls.Certificate, error) {
	impostor, err := pki.NewAuthority(caName)
	if err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("making the ignition server's key: %w", err)
	}
	leaf := func(name string) pki.Leaf {
		return pki.Leaf{
			CommonName: "ignition-server", Organizations: []string{"openshift"}, DNSNames: []string{name}, Key: key,
		}
	}
	expired := leaf(host)
	expired.NotBefore = time.Now().AddDate(-1, 0, 0)
	expired.NotAfter = time.Now().Add(-time.Hour)
	certificates := map[string]*tls.Certificate{}
	for _, c := range []struct {
		kind   string
		signer *pki.Authority
		leaf   pki.Leaf
	}{
		{api.CertificateValid, authority, leaf(host)},
		{api.CertificateWrongCA, impostor, leaf(host)},
		{api.CertificateWrongName, authority, leaf("other." + host)},
		{api.CertificateExpired, authority, expired},
	} {
		pair, err := c.signer.Issue(c.leaf)
		if err != nil {
			return nil, err
		}
		certificate, err := pair.TLS()
		if err != nil {
			return nil, fmt.Errorf("loading the ignition server's certificate: %w", err)
		}
		certificates[c.kind] = &certificate
	}
	return certificates, nil
}

// tlsConfig returns the configuration of the upstream server: TLS 1.2 or newer, only the ECDHE
// suites with AEAD in TLS 1.2, no HTTP/2, and resumption of sessions.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.certificates[s.faultsNow().Certificate], nil
		},
	}
}
