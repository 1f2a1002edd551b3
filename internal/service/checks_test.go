// SPDX-License-Identifier: Apache-2.0

package service

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// A missing serving certificate for the host's current address must be reported,
// even if the status of its CSR cannot be queried.
func TestCheckServing(t *testing.T) {
	key := certtest.NewKey(t)
	certificate := certtest.NewCA(t, "signer").Issue(t, key, &x509.Certificate{
		Subject:  pkix.Name{CommonName: "system:node:worker-0", Organization: []string{"system:nodes"}},
		DNSNames: []string{"worker-0"}, IPAddresses: []net.IP{net.ParseIP("192.0.2.7")},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * time.Hour),
	})
	for name, test := range map[string]struct {
		stored  []byte
		address string
		want    bool
	}{
		"valid":           {certificate, "192.0.2.7", false},
		"another address": {certificate, "192.0.2.8", true},
		"none":            {nil, "192.0.2.7", true},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := &reporttest.Recorder{}
			ctx := recorded.DeadlineAt(t, "waiting for the API server")
			dir := t.TempDir()
			if test.stored != nil {
				if err := os.WriteFile(filepath.Join(dir, "kubelet-server-current.pem"), test.stored, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			node := nodeOf(t, "127.0.0.1:1", nil)
			serving := &identity.Serving{
				Conn:      node.Conn,
				NodeName:  node.Name,
				Log:       recorded.Log(),
				Dir:       dir,
				Addresses: []netip.Addr{netip.MustParseAddr(test.address)},
			}
			found, err := checkServing(ctx, serving)
			if err != nil || (len(found) == 1) != test.want {
				t.Fatalf("%+v, %v", found, err)
			}
			if test.want && (found[0].Severity != report.SeverityProblem || found[0].Subject != "serving certificate" ||
				!strings.Contains(found[0].Message, "oc logs and oc exec fail for its pods") || found[0].Remedy == "") {
				t.Errorf("%+v", found[0])
			}
		})
	}
}
