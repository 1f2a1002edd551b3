// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"v1.31.4+0d2c0fe":      "1.31.4",
		"Kubernetes v1.34.2\n": "1.34.2",
		"v1.37.0":              "1.37.0",
	} {
		v, err := ParseVersion(text)
		if err != nil || v.String() != want {
			t.Errorf("ParseVersion(%q) = %s, %v; want %q", text, v, err, want)
		}
	}
	for _, text := range []string{"", "Kubernetes", "v1"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("ParseVersion(%q) = %s, want an error", text, v)
		}
	}
}

func TestMinor(t *testing.T) {
	two, _ := ParseVersion("2.36.0")
	one, _ := ParseVersion("1.36.0")
	for version, want := range map[Version]int{one: 36, two: 0, {}: 0} {
		if got := version.Minor(); got != want {
			t.Errorf("%s: %d, want %d", version, got, want)
		}
	}
}

func TestCheckSkew(t *testing.T) {
	tests := map[string]struct{ server, kubelet, want string }{
		"equal":                                 {server: "1.31.4", kubelet: "1.31.9"},
		"three older":                           {server: "1.31.4", kubelet: "1.28.0"},
		"four older":                            {server: "1.31.4", kubelet: "1.27.0", want: "4 minor versions older"},
		"server before 1.28, two older":         {server: "1.27.4", kubelet: "1.25.0"},
		"server before 1.28, three older":       {server: "1.27.4", kubelet: "1.24.0", want: "at most 2"},
		"server 1.28, three older":              {server: "1.28.0", kubelet: "1.25.0"},
		"newer":                                 {server: "1.31.4", kubelet: "1.32.0", want: "newer"},
		"other major":                           {server: "1.31.4", kubelet: "2.31.0", want: "newer"},
		"unknown kube":                          {server: "1.31.4"},
		"unknown server":                        {kubelet: "1.31.4"},
		"same minor, older patch of the server": {server: "1.31.4", kubelet: "1.31.9"},
	}
	for name, test := range tests {
		server, _ := ParseVersion(test.server)
		kubelet, _ := ParseVersion(test.kubelet)
		err := CheckSkew(server, kubelet)
		if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: Skew() = %v, want %q", name, err, test.want)
		}
		if err != nil && report.CodeOf(err) != report.Refused {
			t.Errorf("%s: code %d, want a refusal", name, report.CodeOf(err))
		}
	}
}
