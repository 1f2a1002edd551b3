// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// The expected name was computed by kubelet's own digestedName (v1.34.2).
func TestClientCSRNameMatchesKubelet(t *testing.T) {
	const public = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEv/QUt6G9VdldwY4iBgetH46wgzYAXOB8k79fbHEXZzSzaV6C" +
		"E0oUByl4e01AwrGf9lx1razEZc2uNW8Zrz+jlA=="
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

// Only the holder of the key can name a CSR.
func TestCheckCSRName(t *testing.T) {
	key := certtest.NewKey(t)
	own, err := ClientCSRName(&key.PublicKey, "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	name := RandomCSRName()
	signed := signName(t, name, key)
	for text, test := range map[string]struct {
		name        string
		key         any
		annotations map[string]string
		accepted    bool
	}{
		"name of kubelet":           {own, &key.PublicKey, nil, true},
		"name of kubelet, signed":   {own, &key.PublicKey, signed, true},
		"signed name":               {name, &key.PublicKey, signed, true},
		"unsigned name":             {name, &key.PublicKey, nil, false},
		"signature of another name": {RandomCSRName(), &key.PublicKey, signed, false},
		"signature by another key":  {name, &key.PublicKey, signName(t, name, certtest.NewKey(t)), false},
		"signature is no base64":    {name, &key.PublicKey, map[string]string{annotationNameSignature: "v1:-"}, false},
		"oversized signature": {
			name, &key.PublicKey, map[string]string{annotationNameSignature: "v1:" + strings.Repeat("A", 1<<16)}, false,
		},
		"key without ECDSA signatures": {name, make(ed25519.PublicKey, ed25519.PublicKeySize), signed, false},
	} {
		err := CheckCSRName(test.name, "worker-1", test.key, test.annotations)
		if (err == nil) != test.accepted || (err != nil && !strings.Contains(err.Error(), "it is a copy")) {
			t.Errorf("%s: CheckCSRName(%q) = %v", text, test.name, err)
		}
	}
	// A later run of the node compares the annotations with those of its existing CSR.
	if again := signName(t, name, key); !maps.Equal(again, signed) {
		t.Errorf("SignCSRName() = %q, before %q", again, signed)
	}
}

func signName(t *testing.T, name string, key *ecdsa.PrivateKey) map[string]string {
	t.Helper()
	annotations, err := SignCSRName(name, key)
	if err != nil {
		t.Fatal(err)
	}
	return annotations
}
