// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6"
	vreport "github.com/coreos/vcontext/report"
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
	if _, err := Parse(withUnknownKeys(maxKeys - known)); err != nil {
		t.Errorf("%d keys: %v", maxKeys, err)
	}
	_, err := Parse(withUnknownKeys(maxKeys - known + 1))
	if want := "the config has 50001 keys; at most 50000 are supported"; err == nil || err.Error() != want {
		t.Errorf("%d keys: got %v, want %s", maxKeys+1, err, want)
	}
}

func TestParseReportsTheFirstUnknownKeys(t *testing.T) {
	parsed, err := Parse(withUnknownKeys(7))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range maxProblems {
		column := 33 + 12*i
		want = append(want, fmt.Sprintf("warning at $.k%06d, line 1 col %d: unused key k%06d", i, column, i))
	}
	if diff := cmp.Diff(append(want, "and 2 more"), parsed.Warnings); diff != "" {
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
		if parsed, err := Parse([]byte(raw)); err != nil || parsed.Version != "3.4.0" {
			t.Errorf("%s: %v, %v", raw, parsed, err)
		}
	}
}

// parseSpec skips specs that ParseCompatibleVersion tries first, and returns the same.
func TestParseSpecAgreesWithIgnition(t *testing.T) {
	const entries = `"storage":{"files":[{"path":"/a","mode":2541,"contents":{"source":"data:,a"}},{"path":"/b","unknown":1}]},
		"systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Unit]"}]}`
	for _, version := range []string{
		"3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0", "3.2.1", "3.2.0-experimental", "3.2.0+build", "3.7.0",
	} {
		for _, rest := range []string{entries, `"storage":{"files":[{"path":"a"},{"path":"/c"},{"path":"/c"}]}`, `"storage":[]`} {
			raw := fmt.Appendf(nil, `{"ignition":{"version":%q},%s}`, version, rest)
			want, wantFound, wantErr := v3_6.ParseCompatibleVersion(raw)
			got, found, err := parseSpec(version, raw)
			for _, r := range []*vreport.Report{&wantFound, &found} { // unknown keys are in random order
				slices.SortFunc(r.Entries, func(a, b vreport.Entry) int { return strings.Compare(a.String(), b.String()) })
			}
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) || found.String() != wantFound.String() {
				t.Errorf("%s: %v, %v, want %v, %v\n%s", raw, found, err, wantFound, wantErr, diff)
			}
		}
	}
}
