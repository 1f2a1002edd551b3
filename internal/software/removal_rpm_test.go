// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// Only packages that the agent installed are removed: not those that existed before, that the
// administrator installed or reinstalled, or that other packages require.
func TestRealRemoval(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build("site", "existing-1-1.el9", "conmon-2-1.el9", "runc-1-1.el9", "jq-1-1.el9", "openvswitch3.5-3.5.0-1.el9",
		"site-1-1.el9")
	b.Header = "Requires: conmon, existing\n"
	b.Build("site", "cri-o-1.31.4-2.el9")
	b.Header = "Requires: runc\n"
	b.Build("site", "tool-1-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	administrator := func(args ...string) {
		t.Helper()
		b.Run(
			"dnf",
			append(
				[]string{"--installroot", b.Root.Root, "--releasever", "9", "--disableplugin=local", "--assumeyes", "--quiet"},
				args...,
			)...,
		)
	}
	administrator("install", "existing")
	after, err := b.Root.LastTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, specs := range [][]string{{"cri-o", "runc"}, {"openvswitch3.5", "jq"}} {
		if err := Install(t.Context(), b.Root, report.Log{}, specs...); err != nil {
			t.Fatal(err)
		}
	}
	administrator("install", "tool", "site")
	administrator("remove", "jq")
	administrator("install", "jq")

	find := func() Removal {
		t.Helper()
		removal, err := FindRemoval(t.Context(), b.Root, after, func(name string) string {
			if name == "openvswitch3.5" {
				return "bridge br0 exists"
			}
			return ""
		})
		if err != nil {
			t.Fatal(err)
		}
		return removal
	}
	removal := find()
	if diff := cmp.Diff([]string{"conmon", "cri-o"}, slices.Sorted(slices.Values(removal.Names()))); diff != "" {
		t.Errorf("to remove (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		[]string{"openvswitch3.5: bridge br0 exists", "runc: tool requires it"}, removal.Kept,
	); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	// A removal must not need the repositories.
	b.ConfigureRepository("site", "enabled=1", "baseurl=http://127.0.0.1:1/")
	if err := removal.Uninstall(t.Context(), b.Root, report.Log{}); err != nil {
		t.Fatal(err)
	}
	installed, err := b.Root.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"existing-1", "jq-1", "openvswitch3.5-3.5.0", "runc-1", "site-1", "tool-1"}
	names := slices.DeleteFunc(
		packageNames(installed), func(name string) bool { return strings.HasPrefix(name, "gpg-pubkey-") },
	)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	if again := find(); len(again.Remove) > 0 {
		t.Errorf("a second removal removes %v", again.Remove)
	}
}
