// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestReadCertificate(t *testing.T) {
	dir := t.TempDir()
	if c, err := ReadCertificate(filepath.Join(dir, "none.pem")); c != nil || err != nil {
		t.Errorf("where there is none: %+v, %v", c, err)
	}
	key := certtest.NewKey(t)
	template := servingCertificate("worker-7", "192.0.2.7", "2001:db8::7")
	template.NotBefore, template.NotAfter = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 11, 0, 0,
		0, 0, time.UTC)
	content := append(certtest.NewCA(t, "signer").Issue(t, key, template), certtest.KeyPEM(t, key)...)
	file := filepath.Join(dir, "a.pem")
	for text, want := range map[string]*Certificate{
		string(content): {
			Subject:     "CN=system:node:worker-7,O=system:nodes",
			Issuer:      "CN=signer,OU=openshift",
			Names:       []string{"worker-7", "192.0.2.7", "2001:db8::7"},
			NotBefore:   template.NotBefore,
			NotAfter:    template.NotAfter,
			Fingerprint: fingerprint(&key.PublicKey),
		},
		"":                              nil,
		string(certtest.KeyPEM(t, key)): nil,
		string(content[10:]) + "":       nil,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCertificate(file)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	c := Certificate{NotBefore: template.NotBefore, NotAfter: template.NotAfter} // 100 days
	for day, late := range map[int]bool{-1: false, 50: false, 89: false, 91: true, 101: true} {
		if c.RenewalOverdue(template.NotBefore.AddDate(0, 0, day)) != late {
			t.Errorf("on day %d it is late: %t", day, !late)
		}
	}
}
