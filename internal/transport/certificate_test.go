// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestCertificateNames(t *testing.T) {
	leaf := certtest.NewCA(t, "a CA").IssueServing(t, "a.example.com", func(c *x509.Certificate) {
		c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 7)}
	}).Leaf
	if diff := cmp.Diff([]string{"a.example.com", "192.0.2.7"}, CertificateNames(leaf)); diff != "" {
		t.Error(diff)
	}
	if got := CertificateNames(&x509.Certificate{}); len(got) > 0 {
		t.Errorf("CertificateNames() = %q for a certificate without names", got)
	}
}

func TestDescribeValidity(t *testing.T) {
	now := time.Now()
	leaf := certtest.NewCA(t, "a CA").IssueServing(t, "a.example.com", func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
	}).Leaf
	for want, at := range map[string]time.Time{
		"is not valid before": now.Add(-2 * time.Hour),
		"expired at":          now.Add(2 * time.Hour),
	} {
		if got := DescribeValidity("host:443", leaf, at); !strings.Contains(got, " of host:443 "+want+" ") {
			t.Errorf("DescribeValidity() = %q, want %q", got, want)
		}
	}
}
