// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/x509"
	"encoding/base64"
	"testing"
)

// The expected name was computed by kubelet's own digestedName (v1.34.2).
func TestClientCSRNameMatchesKubelet(t *testing.T) {
	const public = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEv/QUt6G9VdldwY4iBgetH46wgzYAXOB8k79fbHEXZzSzaV6CE0oUByl4e01AwrGf9lx1razEZc2uNW8Zrz+jlA=="
	const want = "node-csr-hrT5dyhxiEMTWXLFLseT0CwcVJQrEDlQv_gYj0U9_Zg"
	der, err := base64.StdEncoding.DecodeString(public)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ClientCSRName(key, "worker-1"); err != nil || got != want {
		t.Errorf("ClientCSRName() = %q, %v; want %q", got, err, want)
	}
}
