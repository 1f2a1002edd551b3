// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// ClientCertificatePath returns the path of kubelet's current client certificate.
func ClientCertificatePath(dir string) string { return filepath.Join(dir, currentClient) }

// ServingCertificatePath returns the path of kubelet's current serving certificate.
func ServingCertificatePath(dir string) string {
	return filepath.Join(dir, "kubelet-server-current.pem")
}

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
	leaf, err := parseLeaf(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := newCertificate(leaf)
	return &c, nil
}

func newCertificate(c *x509.Certificate) Certificate {
	return Certificate{
		Subject:     c.Subject.String(),
		Issuer:      c.Issuer.String(),
		Names:       transport.CertificateNames(c),
		NotBefore:   c.NotBefore.UTC(),
		NotAfter:    c.NotAfter.UTC(),
		Fingerprint: fingerprint(c.PublicKey),
	}
}

// RenewalOverdue reports whether the certificate should have been renewed by now.
func (c Certificate) RenewalOverdue(now time.Time) bool {
	return elapsedFraction(c.NotBefore, c.NotAfter, now) >= latestRenewal
}

// CertificateExpiry is the expiry of one of kubelet's certificates.
type CertificateExpiry struct {
	Name     string // "client" or "serving"
	NotAfter time.Time
}

// CertificateExpiries returns when kubelet's existing certificates expire.
func CertificateExpiries(dir string) []CertificateExpiry {
	var ends []CertificateExpiry
	for _, one := range []struct{ name, file string }{
		{"client", ClientCertificatePath(dir)},
		{"serving", ServingCertificatePath(dir)},
	} {
		if leaf := readLeaf(one.file); leaf != nil {
			ends = append(ends, CertificateExpiry{Name: one.name, NotAfter: leaf.NotAfter})
		}
	}
	return ends
}

// readLeaf reads the first certificate in a file. It returns nil if there is
// none.
func readLeaf(path string) *x509.Certificate {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	leaf, err := parseLeaf(content)
	if err != nil {
		return nil
	}
	return leaf
}

// parseLeaf parses the first certificate of a PEM file.
func parseLeaf(content []byte) (*x509.Certificate, error) {
	chain, err := kube.ParsePEMCertificates(content)
	if err != nil {
		return nil, err
	}
	return chain[0], nil
}

// isNodeCertificate reports whether a client certificate is that of a node.
func isNodeCertificate(leaf *x509.Certificate, nodeName string) bool {
	return leaf.Subject.CommonName == nodeUser(nodeName) && slices.Contains(leaf.Subject.Organization, "system:nodes")
}
