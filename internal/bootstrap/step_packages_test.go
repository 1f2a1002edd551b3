// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

func TestSummarizePackages(t *testing.T) {
	decision := software.Decision{
		Managed:  true,
		Packages: slices.Repeat([]software.Choice{{Outcome: software.Present}}, 12),
	}
	const installed = "12 of 12 packages of a node are installed"
	unmanaged := software.Decision{Packages: decision.Packages}
	got := summarizePackages("cri-o-1.34.0-2.el9", nil, unmanaged)
	if want := "unpacked cri-o-1.34.0-2.el9 from the OS image"; got.Summary != want || !got.Changed {
		t.Errorf("without the management of packages: %+v", got)
	}
	for _, test := range []struct {
		unpacked string
		specs    []string
		want     string
		changed  bool
	}{
		{"", nil, installed, false},
		{"cri-o-1.34.0-2.el9", nil, "unpacked cri-o-1.34.0-2.el9 from the OS image; " + installed, true},
		{"", []string{"crun", "runc"}, "dnf installed crun runc; " + installed, true},
		{
			"cri-o-1.34.0-2.el9",
			[]string{"crun"},
			"unpacked cri-o-1.34.0-2.el9 from the OS image; dnf installed crun; " + installed, true,
		},
	} {
		got := summarizePackages(test.unpacked, test.specs, decision)
		if got.Summary != test.want || got.Changed != test.changed {
			t.Errorf("summarizePackages(%q, %q) = %+v", test.unpacked, test.specs, got)
		}
	}
}
