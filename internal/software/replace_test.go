// SPDX-License-Identifier: Apache-2.0

package software

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// An upgrade replaces the packages whose versions belong to a release, in both directions, and refuses
// what no repository provides.
func TestDecideReplacesPackagesOfAnotherRelease(t *testing.T) {
	older := []dnf.Package{newPackage("openshift-kubelet", "4.17.9", "el9", ""), newPackage("cri-o", "1.30.2", "el9", "")}
	newer := []dnf.Package{newPackage("openshift-kubelet", "4.19.1", "el9", ""), newPackage("cri-o", "1.32.1", "el9", "")}
	available := []dnf.Package{
		newPackage("openshift-kubelet", "4.18.5", "el9", rhocp9), newPackage("cri-o", "1.31.4", "el9", rhocp9),
	}
	current := []dnf.Package{
		newPackage("openshift-kubelet", "4.18.1", "el9", ""), newPackage("cri-o", "1.31.4", "el9", ""),
	}
	specs := []string{"openshift-kubelet-4.18.*", "cri-o-1.31.*"}
	for name, test := range map[string]struct {
		installed, available []dnf.Package
		image                map[string]string // versions of the OS image
		replace, refused     bool
		want                 []string
	}{
		"upgrade":       {installed: older, available: available, replace: true, want: specs},
		"rollback":      {installed: newer, available: available, replace: true, want: specs},
		"join":          {installed: older, available: available, refused: true},
		"no repository": {installed: older, replace: true, refused: true, want: nil},
		"nothing to do": {replace: true},
		"newer in the image": {
			installed: current, available: available, replace: true,
			image: map[string]string{"openshift-kubelet": "4.18.5-1.el9", "cri-o": "1.31.4-1.el9"},
			want:  []string{"openshift-kubelet-4.18.5-1.el9"},
		},
		"not in a repository": {
			installed: current, available: available, replace: true,
			image: map[string]string{"openshift-kubelet": "4.18.9-1.el9", "cri-o": "1.31.4-1.el9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := goodFacts()
			f.Versions.Server, f.Available = kube.MinorVersion(32), test.available
			f.Replace, f.Install = test.replace, test.replace
			f.Programs = []string{"kubelet", "crio"} // of the installed packages
			if test.image != nil {
				f.Contents = &Contents{Release: f.Requested, RHEL: "9.4", Packages: test.image}
			}
			if test.installed != nil {
				f.Installed = append(without(f.Installed, "openshift-kubelet", "cri-o"), test.installed...)
			}
			decision := Decide(withBinaries(f))
			if refused := decision.Err() != nil; refused != test.refused {
				t.Errorf("refused: %v", decision.Err())
			}
			var got []string
			for _, c := range decision.With(ToReplace) {
				got = append(got, c.Spec)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("replaced (-want +got):\n%s", diff)
			}
		})
	}
}
