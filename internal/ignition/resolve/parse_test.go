// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withUnknownKeys returns a config with n keys that no spec has.
func withUnknownKeys(n int) []byte {
	var text strings.Builder
	text.WriteString(`{"ignition":{"version":"3.4.0"}`)
	for i := range n {
		fmt.Fprintf(&text, `,"k%06d":1`, i)
	}
	text.WriteString("}")
	return []byte(text.String())
}

func TestParseRejectsConfigWithTooManyKeys(t *testing.T) {
	const known = 2 // ignition and its version
	if _, _, _, err := Parse(withUnknownKeys(maxKeys - known)); err != nil {
		t.Errorf("%d keys: %v", maxKeys, err)
	}
	_, _, _, err := Parse(withUnknownKeys(maxKeys - known + 1))
	if want := "the config has 50001 keys; at most 50000 are supported"; err == nil || err.Error() != want {
		t.Errorf("%d keys: got %v, want %s", maxKeys+1, err, want)
	}
}

func TestParseReportsTheFirstUnknownKeys(t *testing.T) {
	_, _, warnings, err := Parse(withUnknownKeys(7))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range maxProblems {
		column := 33 + 12*i
		want = append(want, fmt.Sprintf("warning at $.k%06d, line 1 col %d: unused key k%06d", i, column, i))
	}
	if diff := cmp.Diff(append(want, "and 2 more"), warnings); diff != "" {
		t.Error(diff)
	}
}

// A version in another part of the text is not the config's version.
func TestParseReturnsTheVersionOfTheConfig(t *testing.T) {
	for _, raw := range []string{
		`{"passwd":{"users":[{"name":"\"version\":\"3.2.0\""}]},"ignition":{"version":"3.4.0"}}`,
		`{"x":{"version":"3.2.0"},"ignition":{"version":"3.4.0"}}`,
		`{"ignition":{"version":"3.2.0"},"ignition":{"version":"3.4.0"}}`,
	} {
		if _, version, _, err := Parse([]byte(raw)); err != nil || version != "3.4.0" {
			t.Errorf("%s: %q, %v", raw, version, err)
		}
	}
}
