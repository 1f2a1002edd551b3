// SPDX-License-Identifier: Apache-2.0

// Package pki creates the certificate authorities and certificates of the test environment.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"
)

// Authority is a self-signed certificate authority.
type Authority struct {
	KeyPair
	certificate *x509.Certificate
	key         crypto.Signer
}

// KeyPair is a certificate and its private key in PEM.
type KeyPair struct {
	Certificate, Key []byte
}

// Leaf describes a certificate. A leaf with names is a server certificate; one without is a
// client certificate.
type Leaf struct {
	CommonName    string
	Organizations []string
	DNSNames      []string
	Addresses     []net.IP
	NotBefore     time.Time // zero: an hour ago
	NotAfter      time.Time // zero: in a year, as in HyperShift
	// Key is an RSA key, with which the certificate has no extended key usage, as those of support/certs in HyperShift;
	// nil for a new ECDSA key.
	Key *rsa.PrivateKey
}

// NewAuthority creates a CA that is valid for ten years, with OpenShift's organizational unit.
func NewAuthority(commonName string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of %s: %w", commonName, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName, OrganizationalUnit: []string{"openshift"}},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", commonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", commonName, err)
	}
	pair, err := encode(der, key)
	if err != nil {
		return nil, err
	}
	return &Authority{KeyPair: pair, certificate: certificate, key: key}, nil
}

// Issue creates a key and a certificate signed by the CA.
func (a *Authority) Issue(leaf Leaf) (KeyPair, error) {
	var key crypto.Signer = leaf.Key
	var usage []x509.ExtKeyUsage
	if leaf.Key == nil {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return KeyPair{}, fmt.Errorf("making the key of %s: %w", leaf.CommonName, err)
		}
		usage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		if len(leaf.DNSNames)+len(leaf.Addresses) > 0 {
			usage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
	}
	if leaf.NotBefore.IsZero() {
		leaf.NotBefore = time.Now().Add(-time.Hour)
	}
	if leaf.NotAfter.IsZero() {
		leaf.NotAfter = time.Now().AddDate(1, 0, 0)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Organizations},
		DNSNames:              leaf.DNSNames,
		IPAddresses:           leaf.Addresses,
		NotBefore:             leaf.NotBefore,
		NotAfter:              leaf.NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           usage,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("signing %s: %w", leaf.CommonName, err)
	}
	return encode(der, key)
}

// TLS returns the pair for use with crypto/tls.
func (p KeyPair) TLS() (tls.Certificate, error) {
	return tls.X509KeyPair(p.Certificate, p.Key)
}

// NewSigningKey creates a key pair without a certificate, to sign service account tokens.
// Certificate holds the public key.
func NewSigningKey() (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("making a signing key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return KeyPair{}, fmt.Errorf("encoding a public key: %w", err)
	}
	pair, err := encode(nil, key)
	pair.Certificate = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return pair, err
}

func encode(der []byte, key crypto.Signer) (KeyPair, error) {
	block := &pem.Block{}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		block.Type, block.Bytes = "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)
	case *ecdsa.PrivateKey:
		private, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return KeyPair{}, fmt.Errorf("encoding a private key: %w", err)
		}
		block.Type, block.Bytes = "EC PRIVATE KEY", private
	}
	return KeyPair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(block),
	}, nil
}
