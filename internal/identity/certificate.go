package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// Certificate describes a certificate. It never contains the key.
type Certificate struct {
	Subject     string    `json:"subject"`
	Issuer      string    `json:"issuer"`
	Names       []string  `json:"names,omitempty"` // DNS names and IP addresses
	NotBefore   time.Time `json:"notBefore"`
	NotAfter    time.Time `json:"notAfter"`
	Fingerprint string    `json:"fingerprint"` // of the public key
}

// ReadCertificate reads the first certificate of a PEM file, which may also
// contain a key. It returns nil if the file does not exist.
func ReadCertificate(file string) (*Certificate, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	if err != nil {
		return nil, fmt.Errorf("reading certificate: %w", err)
	}
	chain, err := ParseCertificates(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &chain[0], nil
}

// ParseCertificates parses the certificates of a PEM file. It fails if there
// are none.
func ParseCertificates(content []byte) ([]Certificate, error) {
	chain, err := kube.ParsePEMCertificates(content)
	if err != nil {
		return nil, err
	}
	all := make([]Certificate, 0, len(chain))
	for _, one := range chain {
		all = append(all, newCertificate(one))
	}
	return all, nil
}

func newCertificate(c *x509.Certificate) Certificate {
	return Certificate{
		Subject: c.Subject.String(), Issuer: c.Issuer.String(), Names: kube.CertificateNames(c),
		NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(), Fingerprint: Fingerprint(c.PublicKey),
	}
}

// RenewalOverdue reports whether the certificate should have been renewed by now.
func (c Certificate) RenewalOverdue(now time.Time) bool {
	return elapsedFraction(c.NotBefore, c.NotAfter, now) >= latestRenewal
}
