// SPDX-License-Identifier: Apache-2.0

package software

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

func TestOutcomeOfCRIO(t *testing.T) {
	available := []dnf.Package{newPackage("cri-o", "1.31.4", "el9", rhocp9)}
	contents := &Contents{
		Release:  Release{4, 18},
		RHEL:     "9.6",
		Packages: map[string]string{"cri-o": "1.31.4-1", "openshift-kubelet": "4.18.0-1"},
	}
	older := newPackage("cri-o", "1.30.2", "el9", "")
	for name, test := range map[string]struct {
		installed *dnf.Package
		change    func(f *Facts)
		want      Outcome
		from      string
	}{
		"installed": {installed: &available[0], want: Present},
		"unpacked": {
			change: func(f *Facts) { f.Unpacked, f.Programs = []Unpacked{{Name: "cri-o"}}, []string{"crio"} },
			want:   Present,
		},
		"unpacked, and removed since": {
			change: func(f *Facts) {
				f.Unpacked, f.Source, f.Contents = []Unpacked{{Name: "cri-o"}}, config.SoftwareAuto, contents
			},
			want: ToUnpack,
			from: "cri-o",
		},
		"partly unpacked": {
			change: func(f *Facts) { f.Unpacked = []Unpacked{{Name: "cri-o", Incomplete: true}} },
			want:   Absent,
		},
		"unknown package": {change: func(f *Facts) { f.Programs = []string{"crio"} }, want: Unchecked},
		"to install": {
			change: func(f *Facts) { f.Install, f.Available = true, available },
			want:   ToInstall,
			from:   rhocp9,
		},
		"only offered": {change: func(f *Facts) { f.Available = available }, want: Offered, from: rhocp9},
		"hidden":       {change: func(f *Facts) { f.Hidden = available }, want: Hidden},
		"not queried":  {change: func(f *Facts) { f.Queried = false }, want: Unqueried},
		"in no source": {change: func(*Facts) {}, want: Absent},
		"in the image": {
			change: func(f *Facts) { f.Source, f.Contents = config.SoftwareAuto, contents }, want: ToUnpack,
			from: "cri-o",
		},
		"of another release": {
			installed: &older,
			change:    func(f *Facts) { f.Replace, f.Available = true, available },
			want:      ToReplace,
			from:      rhocp9,
		},
		// rpm owns the files of the installed package.
		"of another release, in the image": {
			installed: &older,
			change:    func(f *Facts) { f.Replace, f.Source, f.Contents = true, config.SoftwareImage, contents },
			want:      Absent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := goodFacts()
			facts.Installed = without(facts.Installed, "cri-o")
			if test.installed != nil {
				facts.Installed = append(facts.Installed, *test.installed)
			}
			if test.change != nil {
				test.change(&facts)
			}
			decision := Decide(facts)
			at := slices.IndexFunc(decision.Packages, func(c Choice) bool { return c.Name == "cri-o" })
			if got := decision.Packages[at]; got.Outcome != test.want || got.From != test.from {
				t.Errorf("outcome %s from %q, want %s from %q", got.Outcome, got.From, test.want, test.from)
			}
		})
	}
}
