// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
)

func TestSummarizePackages(t *testing.T) {
	decision := packages.Decision{Needed: 12, Present: 12}
	const installed = "12 of 12 packages of a node are installed"
	for _, test := range []struct {
		unpacked string
		specs    []string
		want     string
		changed  bool
	}{
		{"", nil, installed, false},
		{"cri-o-1.34.0-2.el9", nil, "unpacked cri-o-1.34.0-2.el9 from the OS image; " + installed, true},
		{"", []string{"crun", "runc"}, "dnf installed crun runc; " + installed, true},
		{"cri-o-1.34.0-2.el9", []string{"crun"}, "unpacked cri-o-1.34.0-2.el9 from the OS image; dnf installed crun; " + installed, true},
	} {
		got := summarizePackages(test.unpacked, test.specs, decision)
		if got.Summary != test.want || got.Changed != test.changed {
			t.Errorf("summarizePackages(%q, %q) = %+v", test.unpacked, test.specs, got)
		}
	}
}
