// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// The patterns must select the packages of the components in a real rpm database, and find the update of
// a kernel beside the running one.
func TestRealPackages(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Header = "Provides: installonlypkg(kernel)\n" // dnf keeps more than one version
	b.Build("site", "kernel-core-5.14.0-503.el9", "kernel-core-5.14.0-570.el9")
	b.Header = ""
	b.Build("site", "openvswitch3.5-3.5.0-38.el9fdp", "NetworkManager-1.52.0-3.el9",
		"NetworkManager-ovs-1.52.0-3.el9", "systemd-252-51.el9", "kernel-tools-5.14.0-570.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	for _, specs := range [][]string{
		{"kernel-core-5.14.0-503*", "openvswitch3.5", "NetworkManager", "NetworkManager-ovs", "systemd", "kernel-tools"},
		{"kernel-core-5.14.0-570*"},
	} {
		if err := b.Root.Install(t.Context(), "test", nil, specs...); err != nil {
			t.Fatal(err)
		}
	}
	installed, err := b.Root.Installed(t.Context(), runningPatterns...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range installed {
		names = append(names, p.String())
	}
	slices.Sort(names)
	want := []string{
		"NetworkManager-1.52.0-3.el9.noarch", "kernel-core-5.14.0-503.el9.noarch", "kernel-core-5.14.0-570.el9.noarch",
		"openvswitch3.5-3.5.0-38.el9fdp.noarch", "systemd-252-51.el9.noarch",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
