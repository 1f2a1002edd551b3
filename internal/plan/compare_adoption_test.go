// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// activeUnits are units of a node: all are enabled and active.
type activeUnits struct{ systemd.Reader }

func (activeUnits) UnitState(context.Context, string) (systemd.UnitState, error) {
	return systemd.UnitState{Load: "loaded", Active: "active", File: "enabled"}, nil
}

func (activeUnits) Get(context.Context, ledger.Change) (ledger.State, error) {
	return ledger.State{Present: true, Enabled: "enabled", Active: "active"}, nil
}
func (activeUnits) Set(context.Context, ledger.Change, ledger.State) error     { return nil }
func (activeUnits) Restore(context.Context, ledger.Change, ledger.State) error { return nil }

// The objects of a node are recorded in the steps of a join. The bootstrap kubeconfig, which a node does not have any
// more, is no difference.
func TestCompareAdoption(t *testing.T) {
	kubelet := ledger.Change{
		Kind: ledger.Unit, Target: "kubelet.service", Desired: ledger.State{Present: true, Enabled: "enabled"},
	}
	of := func(target, content string) ledger.Change {
		desired := ledger.State{Present: true}.WithContent([]byte(content))
		return ledger.Change{Kind: ledger.File, Target: target, Desired: desired}
	}
	s, p := plannedSession(t, map[string]string{
		"etc/hcp-test/equal": "x", "etc/hcp-test/edited": "# mine", "etc/passwd": "", "etc/group": "",
	}, of("/etc/hcp-test/equal", "x"), of("/etc/hcp-test/edited", "x"), of(ignition.BootstrapKubeconfigPath, "secret"))
	p.Kubelet = []ledger.Change{kubelet}
	p.Runtime = crio.Config{PauseImage: "registry.example.com/pause"}
	tree, err := hostfs.OpenTree(s.Host.Files.Name())
	flowtest.NoError(t, err)
	defer tree.Close()
	book, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Paths: &ledger.Paths{Tree: tree}, Resources: map[ledger.Kind]ledger.Driver{ledger.Unit: activeUnits{}},
	})
	flowtest.NoError(t, err)
	defer book.Close()
	s.Host.Units, s.Host.Ledger = activeUnits{}, book
	for hosted, want := range map[bool][]string{
		true: {"/etc/hcp-test/edited", "/etc/crio", "/etc/crio/crio.conf.d", "/etc/crio/crio.conf.d/99-hcp-node-agent.conf"},
		false: {
			"/etc/hcp-test/edited", "/etc/kubernetes", ignition.BootstrapKubeconfigPath, "/etc/crio", "/etc/crio/crio.conf.d",
			"/etc/crio/crio.conf.d/99-hcp-node-agent.conf",
		},
	} {
		s.Run.State.Hosted = hosted
		adoption, err := s.CompareAdoption(t.Context(), p)
		flowtest.NoError(t, err)
		var differences []string
		for _, one := range adoption.Differences {
			if one.Target != "/etc/kubernetes" || !hosted { // the parent of the bootstrap kubeconfig
				differences = append(differences, one.Target)
			}
		}
		if diff := cmp.Diff(want, differences); diff != "" {
			t.Errorf("differences, hosted %t (-want +got):\n%s", hosted, diff)
		}
		made := map[string][]string{}
		for step, changes := range adoption.Made {
			for _, one := range changes {
				made[step] = append(made[step], one.Key())
			}
		}
		wantMade := map[string][]string{
			"files": {"file:/etc/hcp-test/equal"}, "runtime": {"unit:crio.service"}, "kubelet": {"unit:kubelet.service"},
		}
		if diff := cmp.Diff(wantMade, made); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
		if unit := adoption.Made["runtime"][0]; unit.Desired.Enabled != "enabled" || unit.Desired.Active != "active" {
			t.Errorf("CRI-O: %+v", unit.Desired)
		}
	}
}
