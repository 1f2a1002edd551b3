// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Any input is parsed or rejected with the exit code for bad input. Parsed user data is equal
// after encoding and parsing it again.
func FuzzParseUserData(f *testing.F) {
	f.Add([]byte(`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://a/ignition","httpHeaders":[{"name":"Authorization","value":"Bearer YQ=="}]}]},"proxy":{"httpsProxy":"http://p","noProxy":["a"]}}}`))
	f.Add([]byte(`{"ignition":{"version":"2.2.0"}}`))
	f.Add([]byte("kind: Secret\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		userData, err := ParseUserData(content)
		if err != nil {
			if report.CodeOf(err) != report.Usage || report.RemedyOf(err) == "" {
				t.Errorf("error without code or remedy: %v", err)
			}
			return
		}
		if userData.Source == nil || userData.Source.Scheme != "https" {
			t.Errorf("source %v", userData.Source)
		}
		encoded, err := userData.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseUserData(encoded)
		if err != nil {
			t.Fatalf("not read back: %v", err)
		}
		if again.Source.String() != userData.Source.String() ||
			again.Headers.Get(headerAuthorization) != userData.Headers.Get(headerAuthorization) {
			t.Errorf("read back as %s", again)
		}
	})
}

// The words of the patterns and the search in lines with an at sign exclude no content that a pattern matches.
func FuzzSecretPatterns(f *testing.F) {
	const digits = "0123456789012345678901234567890123456789"
	seeds := []string{
		"-----BEGIN EC PRIVATE KEY-----\n", `{"auths":{"a":1}}`, `"auth" : "x"`, "client-key-data: x\n",
		"  token: 0123456789abcdef\n",
		"x.eyJhbGciOiJS.eyJzdWIiOiJ4.x", "PASSWORD=x\n", "pa\u017f\u017fword_in=x\n", "node.password = \"x y\"\n",
		"PrivateKey=oK56DE9Ue9zK76rAc8pBl6opph+1v36lm7cXXsQKrQM=\n",
		"PresharedKey=oK56DE9Ue9zK76rAc8pBl6opph+1v36lm7cXXsQKrQM=\n", `a: PSK "x"`,
		"machine a\nlogin b\npassword c", "aw\u017f_\u017fecret_acce\u017f\u017f_\u212aey=x\n",
		"ldap_default_authto\u212a = x\n",
		"AUTHORIZATION: ba\u017fic 01234567", "\xffAuthorization: Bearer 01234567\u0130",
		"http://a:b@host", "a\nx=a:b@host:1\nb", "a\na:b@host:1@c:d@e:2\n@", "x@sha256:1 x=a:b@sha256:1 http://a:b@h",
		"docker://tool:v1@sha256:0123", "net.ipv4.ip_forward = 1\n",
		"k: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0t", "ghp_" + digits, "github_pat_" + digits, "glpat-" + digits, "npm_" + digits,
		"hvs." + digits, "sha256~" + digits, "curl -u a:b", "psk=01234567", `a : EAP "x"`, `a : XAUTH "x"`,
		"machine a password b login c", "passphra\u017fe=x", "client\u017fecret: x", "_authto\u212aen=x",
		"api\u212aey: x", "api_\u212aey: x",
		"{\"a-pa\u017f\u017fword\":\"x\"}",
	}
	patterns := slices.Concat(secretPatterns, settingPatterns)
	for _, content := range seeds {
		f.Add(content)
	}
	for _, secret := range patterns {
		if !slices.ContainsFunc(seeds, secret.pattern().MatchString) {
			f.Errorf("no seed matches %s", secret.pattern())
		}
	}
	f.Fuzz(func(t *testing.T, content string) {
		lower := strings.ToLower(content)
		for _, secret := range patterns {
			if secret.pattern().MatchString(content) && !strings.Contains(lower, secret.word) {
				t.Errorf("%q matches %s, but does not contain %q", content, secret.pattern(), secret.word)
			}
		}
		isInLine := slices.ContainsFunc(slices.Collect(linesWithAt(content)), hasHostPassword)
		if isInFile := hasHostPassword(content); isInFile != isInLine {
			t.Errorf("%q has a password: %t, line by line: %t", content, isInFile, isInLine)
		}
	})
}
