// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// What cannot have existed before the host became a node is recorded. What others may have made, or what the network
// depends on, is kept.
func TestAdoptionComparison(t *testing.T) {
	file := func(target string) ledger.Change {
		return ledger.FileChange(target, "payload", "x")
	}
	unit := func(name, enabled string) ledger.Change {
		return ledger.Change{Kind: ledger.Unit, Target: name, Desired: ledger.State{Present: true, Enabled: enabled}}
	}
	changes := []ledger.Change{
		file("/etc/kubernetes/kubelet.conf"), file("/etc/containers/registries.conf"), file("/etc/of-image.conf"),
		file("/etc/differs"), file("/usr/local/bin/configure-ovs.sh"), file("/etc/NetworkManager/conf.d/sdn.conf"),
		file("/etc/systemd/system/ovs-configuration.service"), file("/etc/systemd/system/payload.service"),
		{Kind: ledger.File, Target: "/etc/must-not-exist"},
		{
			Kind: ledger.Symlink, Target: "/etc/systemd/system/masked.service",
			Desired: ledger.State{Present: true, Link: "/dev/null"},
		},
		{Kind: ledger.Directory, Target: "/etc/kubernetes", Desired: ledger.State{Present: true}},
		{Kind: ledger.Directory, Target: "/etc/mco", Desired: ledger.State{Present: true}},
		unit("payload.service", "enabled"), unit("chronyd.service", "enabled"), unit("ovs-configuration.service", "enabled"),
		unit("openvswitch.service", "enabled"), unit("kubelet.service", "enabled"), unit("crio.service", "enabled"),
		unit("crio.service", "enabled"),
		{Kind: ledger.Sysctl, Target: "vm.overcommit_memory", Desired: ledger.State{Present: true, Value: "1"}},
		{Kind: accounts.User, Target: "core", Desired: ledger.State{Present: true}},
	}
	for name, ofIgnition := range map[string]bool{"package mode": false, "RHEL CoreOS": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			flowtest.NoError(t, os.MkdirAll(filepath.Join(root, "usr/etc"), 0o750))
			flowtest.NoError(t, os.WriteFile(filepath.Join(root, "usr/etc/of-image.conf"), nil, 0o600))
			tree, err := hostfs.OpenTree(root)
			flowtest.NoError(t, err)
			defer tree.Close()
			c := adoptionComparison{
				files: tree, ofIgnition: ofIgnition, made: map[string]bool{}, differs: map[string]bool{"file:/etc/differs": true},
				owners: map[string]string{"/etc/containers/registries.conf": "containers-common", "/etc/kubernetes": "kubelet"},
				result: Adoption{Made: map[string][]ledger.PlannedChange{}, Present: map[string][]ledger.Change{}},
			}
			flowtest.NoError(t, c.add("files", changes))
			var made []string
			for _, one := range c.result.Made["files"] {
				made = append(made, one.Key()+" "+one.Now.String())
			}
			wantMade := []string{
				"file:/etc/kubernetes/kubelet.conf absent", "file:/etc/systemd/system/payload.service absent",
				"link:/etc/systemd/system/masked.service absent", "directory:/etc/mco absent",
				"unit:payload.service disabled inactive", "unit:kubelet.service disabled inactive",
				"unit:crio.service disabled inactive",
			}
			wantKept := []joinstate.KeptObject{
				{Kind: ledger.File, Target: "/etc/containers/registries.conf", Reason: keptUnknown, Package: "containers-common"},
				{Kind: ledger.File, Target: "/etc/of-image.conf", Reason: keptUnknown},
				{Kind: ledger.File, Target: "/usr/local/bin/configure-ovs.sh", Reason: keptNetwork},
				{Kind: ledger.File, Target: "/etc/NetworkManager/conf.d/sdn.conf", Reason: keptNetwork},
				{Kind: ledger.File, Target: "/etc/systemd/system/ovs-configuration.service", Reason: keptNetwork},
				{Kind: ledger.Unit, Target: "chronyd.service", Reason: keptUnknown},
				{Kind: ledger.Unit, Target: "ovs-configuration.service", Reason: keptNetwork},
				{Kind: ledger.Unit, Target: "openvswitch.service", Reason: keptNetwork},
				{Kind: ledger.Sysctl, Target: "vm.overcommit_memory", Reason: keptUnknown},
				{Kind: accounts.User, Target: "core", Reason: keptUnknown},
			}
			present := map[string]bool{}
			for _, change := range c.result.Present["files"] {
				present[change.Key()] = true
			}
			for _, kept := range c.result.Kept {
				key := ledger.Change{Kind: kept.Kind, Target: kept.Target}.Key()
				if present[key] == (kept.Kind == accounts.User) {
					t.Errorf("%s is recorded: %t", key, present[key])
				}
			}
			if ofIgnition {
				if made != nil || len(c.result.Kept) != len(wantKept)+len(wantMade) {
					t.Errorf("recorded %q, kept %d", made, len(c.result.Kept))
				}
				return
			}
			if diff := cmp.Diff(wantMade, made); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantKept, c.result.Kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDescribeDifference(t *testing.T) {
	mode := func(m uint32) *uint32 { return &m }
	for want, test := range map[string]ledger.PlannedChange{
		"does not exist": {Change: ledger.FileChange("/a", "", "x")},
		"other content": {
			Change: ledger.FileChange("/a", "", "x"), Now: ledger.State{Present: true, Type: hostfs.Regular, Digest: "1"},
		},
		"is of another type: directory": {
			Change: ledger.FileChange("/a", "", "x"), Now: ledger.State{Present: true, Type: hostfs.Directory},
		},
		"mode 0600, not 0644": {
			Change: ledger.FileChange("/a", "", "x"),
			Now: ledger.State{
				Present: true, Type: hostfs.Regular, Digest: ledger.FileState([]byte("x"), 0).Digest, Mode: mode(0o600),
			},
		},
		"exists; the payload requires that it does not": {
			Change: ledger.Change{Kind: ledger.File, Target: "/a"}, Now: ledger.State{Present: true, Type: hostfs.Regular},
		},
		"disabled, not enabled": {
			Change: ledger.Change{Kind: ledger.Unit, Desired: ledger.State{Present: true, Enabled: "enabled"}},
			Now:    ledger.State{Present: true, Enabled: "disabled", Active: "active"},
		},
		"0, not 1": {
			Change: ledger.Change{Kind: ledger.Sysctl, Desired: ledger.State{Present: true, Value: "1"}},
			Now:    ledger.State{Present: true, Value: "0"},
		},
	} {
		if got := describeDifference(test); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
