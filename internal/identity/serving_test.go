// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestServingCheck(t *testing.T) {
	ca, key := certtest.NewCA(t, "signer"), certtest.NewKey(t)
	old := servingCertificate("worker-1", "192.0.2.7")
	old.NotBefore, old.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	tests := map[string]struct {
		certificate []byte
		want        State
	}{
		"none":              {nil, Missing},
		"fits":              {ca.Issue(t, key, servingCertificate("worker-1", "192.0.2.7", "2001:db8::7")), Valid},
		"expired":           {ca.Issue(t, key, old), Expired},
		"another node's":    {ca.Issue(t, key, servingCertificate("worker-2", "192.0.2.7")), Missing},
		"a former address":  {ca.Issue(t, key, servingCertificate("worker-1", "192.0.2.7", "192.0.2.99")), Missing},
		"something else":    {[]byte("x"), Missing},
		"one of two is met": {ca.Issue(t, key, servingCertificate("worker-1", "192.0.2.7")), Valid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &Serving{
				NodeName: "worker-1", Dir: t.TempDir(),
				Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")},
			}
			if test.certificate != nil {
				writeFile(t, filepath.Join(s.Dir, "kubelet-server-current.pem"), test.certificate)
			}
			if got := s.Check(); got != test.want {
				t.Errorf("Check() = %q, want %q", got, test.want)
			}
		})
	}
}

// A node whose CSRs are approved automatically sends no request if kubelet gets its certificate soon.
func TestServingObtainIsQuiet(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	certificate := certtest.NewCA(t, "signer").Issue(t, certtest.NewKey(t), servingCertificate("worker-1", "192.0.2.7"))
	recorded := &reporttest.Recorder{}
	synctest.Test(t, func(t *testing.T) {
		s := &Serving{ // without a connection
			NodeName: "worker-1", Dir: dir, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}, Quiet: time.Minute,
			Log: recorded.Log(),
		}
		time.AfterFunc(100*time.Millisecond, func() {
			writeFile(t, filepath.Join(dir, "kubelet-server-current.pem"), certificate)
		})
		if got, err := s.Obtain(t.Context(), nil); err != nil || !got.Changed {
			t.Errorf("Obtain() = %+v, %v", got, err)
		}
		begun := time.Now()
		s.Dir = empty
		if s.awaitStored(t.Context()) || time.Since(begun) != s.Quiet {
			t.Errorf("without a certificate, the wait ended after %s", time.Since(begun))
		}
	})
	for _, want := range []string{"waiting for the controller to approve the serving CSR", "hcp-node-admin approve worker-1"} {
		if !strings.Contains(recorded.Text(), want) {
			t.Errorf("%q is not in:\n%s", want, recorded.Text())
		}
	}
}
