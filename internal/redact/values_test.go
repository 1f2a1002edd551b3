// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const knownValue = "Canary&7/+ value"

// A known secret is masked in every form.
func TestValuesMaskEveryForm(t *testing.T) {
	values := NewValues(knownValue, "abc", "")
	quoted, err := json.Marshal(knownValue)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":                   "x" + knownValue + "y",
		"JSON":                    strings.Trim(string(quoted), `"`),
		"query":                   url.QueryEscape(knownValue),
		"path":                    url.PathEscape(knownValue),
		"lower case":              percent.ReplaceAllStringFunc(url.QueryEscape(knownValue), strings.ToLower),
		"twice":                   knownValue + knownValue,
		"hex":                     hex.EncodeToString([]byte(knownValue)),
		"HEX":                     strings.ToUpper(hex.EncodeToString([]byte(knownValue))),
		"capitals":                strings.ToUpper(knownValue),
		"wrapped":                 knownValue[:8] + "\n  " + knownValue[8:],
		"in a log":                knownValue[:8] + "\nNov 22 host x[1]: " + knownValue[8:],
		"base64 over three lines": wrapAt(11, base64.StdEncoding.EncodeToString([]byte("a"+knownValue+"b"))),
		"hex over lines":          wrapAt(12, hex.EncodeToString([]byte(knownValue))),
	} {
		got := values.Text("before " + text + " after")
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, Mask) ||
			strings.Contains(strings.ToLower(got), "canary") || strings.Contains(got, knownValue[8:]) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for before := range 7 {
		for after := range 7 {
			whole := strings.Repeat("<", before) + knownValue + strings.Repeat(">", after)
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
				got := values.Text(encoding.EncodeToString([]byte(whole)))
				if plain, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(got, "=")); !strings.Contains(got, Mask) || strings.Contains(string(plain), "nary") {
					t.Errorf("%d before, %d after: %q", before, after, got)
				}
			}
		}
	}
	if text := "abc and nothing known"; values.Text(text) != text || (Values{}).Text(text) != text {
		t.Error("what is no secret was changed")
	}
}

// Programs escape more characters than they must, and logs cut lines.
func TestValuesMaskEscapesAndHalves(t *testing.T) {
	const token = "b9f0c1de-4c7a-4d1a-9a44-0c5de1f2ca7a" //nolint:gosec // an example
	var everyByte strings.Builder
	for _, b := range []byte(token) {
		fmt.Fprintf(&everyByte, "%%%02X", b)
	}
	values := NewValues(token, "aB3+/x==", "only-words-in-both-halves-of-it.")
	for text, want := range map[string]string{
		everyByte.String():                             Mask,
		strings.ToLower(everyByte.String()):            Mask,
		strings.ReplaceAll(token, "-", `\u002d`):       Mask,
		strings.ReplaceAll(token, "-", `\u002D`):       Mask,
		`aB3\u002B/x==`:                                Mask,
		`aB3\u002b\u002fx\u003d\u003d`:                 Mask,
		"cut: " + token[:len(token)/2]:                 "cut: " + Mask,
		"cut: " + token[:24]:                           "cut: " + Mask + token[18:24],
		"cut: " + token[10:]:                           "cut: " + token[10:18] + Mask,
		token:                                          Mask,
		"a text with only-words-in-both in a sentence": "a text with only-words-in-both in a sentence",
	} {
		if got := values.Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// wrapAt wraps a text into lines of width characters.
func wrapAt(width int, text string) string {
	var out strings.Builder
	for ; len(text) > width; text = text[width:] {
		out.WriteString(text[:width] + "\n")
	}
	return out.String() + text
}

// Text around a wrapped secret remains unchanged.
func TestValuesKeepTextAroundWrappedSecret(t *testing.T) {
	values := NewValues("0123456789abcdefghij")
	const text = "a: 1\nJan 1 h x[1]: 0123456789\nJan 1 h x[1]: abcdefghij end\r\n  b\n"
	const want = "a: 1\nJan 1 h x[1]: ***\nJan 1 h x[1]: *** end\r\n  b\n"
	if got := values.Text(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if other := strings.ReplaceAll(text, "abcdefghij", "Abcdefghij"); values.Text(other) != other {
		t.Errorf("%q becomes %q", other, values.Text(other))
	}
}

// All secrets and their parts are found in every kind of text that contains secrets.
func TestFind(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("puller:" + canary + "pw"))
	key := "-----BEGIN EC PRIVATE KEY-----\n" + canary + "line1\n" + canary + "line2\n-----END EC PRIVATE KEY-----\n"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"user data":      {`{"httpHeaders":[{"name":"Authorization","value":"Bearer ` + canary + `AAAA"},{"name":"NodePool","value":"a/b"}]}`, []string{"Bearer " + canary + "AAAA", canary + "AAAA"}},
		"pull secret":    {`{"auths":{"quay.io":{"auth":"` + auth + `","email":"a@b"}}}`, []string{auth, "puller:" + canary + "pw", canary + "pw"}},
		"key":            {key, []string{canary + "line1", canary + "line2"}},
		"key in JSON":    {`{"k":"` + strings.ReplaceAll(key, "\n", `\n`) + `"}`, []string{canary + "line1", canary + "line2"}},
		"kubeconfig":     {"    client-key-data: " + base64.StdEncoding.EncodeToString([]byte(key)) + "\n    token: " + canary + "t\n", []string{canary + "line1", canary + "line2", canary + "t"}},
		"profile":        {"[wifi-security]\npsk=" + canary + "w\n[vpn-secrets]\nXauth=" + canary + "x\n[ipv4]\nmethod=auto\n", []string{canary + "w", canary + "x"}},
		"proxy":          {"HTTPS_PROXY=http://me:" + canary + "%2Fp@proxy:3128", []string{canary + "%2Fp", canary + "/p"}},
		"variables":      {`[{"name":"A","value":"x"},{"name":"DB_PASSWORD","value":"` + canary + `v"}]`, []string{canary + "v"}},
		"unit":           {`Environment="TOKEN=` + canary + `u" PATH=/bin`, []string{canary + "u"}},
		"escaped":        {`{"password":"` + canary + `\u0026\/x"}`, []string{canary + "&/x", canary + `\u0026\/x`}},
		"join token":     {"kind: JoinToken\nprivateKey: " + canary + "k\nnode: worker-7\n", []string{canary + "k"}},
		"nothing secret": {"token: $TOKEN\npassword:\nsecretName: mine\nimage: docker://quay.io/a@sha256:00\nurl: https://me@host/a", nil},
	} {
		got := Find(test.text)
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q is not found in %q", name, want, got)
			}
		}
		if len(test.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %s", name, cmp.Diff(test.want, got))
		}
	}
}

// No part of a known secret remains, regardless of its position.
func FuzzValues(f *testing.F) {
	f.Add("secret", "before", "after")
	f.Add("s3cr&t/+", "", "s3c")
	f.Add("aXaXa", "aX", "aXaXa")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < minSecretLength || strings.Contains(secret, "*") {
			return
		}
		values := NewValues(secret)
		for _, text := range []string{before + secret + after, before + url.QueryEscape(secret) + after} {
			got := values.Text(text)
			if slices.ContainsFunc(strings.Split(got, Mask), func(part string) bool { return strings.Contains(part, secret) }) {
				t.Errorf("%q masked in %q is %q", secret, text, got)
			}
		}
	})
}
