// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"testing"
)

func TestAcceptsKey(t *testing.T) {
	s := parseSettings("pubkeyacceptedalgorithms ecdsa-sha2-nistp256,rsa-sha2-512\n")
	for line, want := range map[string]bool{
		`from="192.0.2.0/24" ssh-rsa AAAA x`: true,
		"ecdsa-sha2-nistp256 AAAA x":         true,
		"ecdsa-sha2-nistp384 AAAA x":         false,
		"ssh-ed25519 AAAA x":                 false,
		"sk-ssh-ed25519@openssh.com AAAA x":  false,
		`no-pty,command="echo 'log in as the user \"cloud-user\"'" ecdsa-sha2-nistp256 AAAA x`: false,
	} {
		if got := acceptsKey(s, line); got != want {
			t.Errorf("%s: %t, want %t", line, got, want)
		}
	}
}

// The crypto policy FUTURE requires RSA keys of 3072 bits.
func TestAcceptsKeyOfSize(t *testing.T) {
	part := func(content []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...) //nolint:gosec // short
	}
	modulus := append([]byte{0}, bytes.Repeat([]byte{0xff}, 256)...)
	blob := slices.Concat(part([]byte("ssh-rsa")), part([]byte{1, 0, 1}), part(modulus))
	line := "ssh-rsa " + base64.StdEncoding.EncodeToString(blob) + " me"
	for size, want := range map[string]bool{"2048": true, "2049": false, "3072": false} {
		if got := acceptsKey(parseSettings("requiredrsasize "+size+"\n"), line); got != want {
			t.Errorf("%s: %t, want %t", size, got, want)
		}
	}
	if !acceptsKey(parseSettings("requiredrsasize 3072\n"), "ssh-ed25519 AAAA me") {
		t.Error("the size concerns another type of keys")
	}
}
