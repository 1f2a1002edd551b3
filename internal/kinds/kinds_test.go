// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
)

func TestRegistry(t *testing.T) {
	names := map[ledger.Kind]bool{}
	for _, kind := range All() {
		isPath := kind.Name.FileType() != ""
		if names[kind.Name] {
			t.Errorf("kind %s occurs twice", kind.Name)
		}
		names[kind.Name] = true
		if drivers := kind.Driver != nil; drivers == (kind.Snapshot != nil) && !isPath {
			t.Errorf("kind %s: it must have either a driver or a snapshot", kind.Name)
		}
		if kind.Group != "" && !slices.Contains(Groups(), kind.Group) {
			t.Errorf("kind %s has the unknown group %q", kind.Name, kind.Group)
		}
		if kind.NeedsOnlyTree && kind.Driver == nil {
			t.Errorf("kind %s has no driver that works on a file tree", kind.Name)
		}
	}
}

func TestEffectOf(t *testing.T) {
	for _, test := range []struct {
		kind   ledger.Kind
		target string
		want   effects.Effect
	}{
		{ledger.File, "/etc/kubernetes/kubelet.conf", effects.OfPath("/etc/kubernetes/kubelet.conf")},
		{ledger.Symlink, "/etc/crio/a", effects.OfPath("/etc/crio/a")},
		{ledger.KernelArguments, "boot loader", effects.Effect{Action: effects.Reboot, Drain: true}},
		{ledger.Directory, "/etc/crio/a", effects.Effect{Action: effects.Nothing}},
		{ledger.Sysctl, "/etc/crio/a", effects.Effect{Action: effects.Nothing}},
		{"unknown", "/etc/crio/a", effects.Effect{Action: effects.Nothing}},
	} {
		got := EffectOf(ledger.Change{Kind: test.kind, Target: test.target})
		if got.Action != test.want.Action || got.Drain != test.want.Drain || got.Unit != test.want.Unit || got.Reason == "" {
			t.Errorf("%s %s: %+v, want %+v", test.kind, test.target, got, test.want)
		}
	}
}

func TestGroupOf(t *testing.T) {
	for _, test := range []struct {
		kind   ledger.Kind
		target string
		want   Group
	}{
		{ledger.File, "/etc/a", GroupFiles},
		{ledger.File, "/etc/systemd/system/a.service", GroupUnits},
		{ledger.Unit, "a.service", GroupUnits},
		{resource.FirewallPortsKind, "firewalld zone public", GroupHost},
		{ledger.Interfaces, "all", GroupOther},
		{"unknown", "a", GroupOther},
	} {
		if got := GroupOf(ledger.Change{Kind: test.kind, Target: test.target}); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.kind, test.target, got, test.want)
		}
	}
}
