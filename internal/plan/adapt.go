// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"maps"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// BootstrapKubeconfig returns the payload's bootstrap kubeconfig, or nil if it was
// removed.
func (b *Builder) BootstrapKubeconfig() []byte {
	content, _, found := b.Payload.File(ignition.BootstrapKubeconfigPath)
	if !found {
		return nil
	}
	return content
}

// expectedNodeName returns the node name that kubelet will use.
func (b *Builder) expectedNodeName() (string, error) {
	unit, dropins, _, _ := b.Payload.Unit(kubelet.UnitName)
	files := kubelet.UnitFiles{Unit: unit, DropIns: dropins, File: b.effectiveFile}
	return kubelet.NodeName(files, b.Facts.Hostname)
}

// effectiveFile returns the content of a file after the join: the payload's, else
// the host's.
func (b *Builder) effectiveFile(p string) ([]byte, bool) {
	if content, _, found := b.Payload.File(p); found {
		return content, true
	}
	content, _, err := b.Tree.ReadFile(p)
	return content, err == nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// adaptPayload decides what becomes of each entry of the payload on this host.
func (b *Builder) adaptPayload(ctx context.Context) (*adapt.Plan, error) {
	unit := b.unitStates(ctx)
	hasModule := func(name string) bool { return hostinfo.HasModule(ctx, name) }
	hasSysctl := hostinfo.HasSysctl
	if b.otherHost != nil {
		isUnknown := func(string) bool { return true } // a plan for another host lists all of them
		hasModule, hasSysctl = isUnknown, isUnknown
	}
	users, groups, err := accounts.Names(b.Tree)
	if err != nil {
		return nil, err
	}
	zone, err := b.firewallZone(ctx)
	if err != nil {
		return nil, err
	}
	return adapt.ToHost(b.Payload, adapt.Input{
		ApplyHostSettings: b.Config.AppliesHostSettings(), FirewallZone: zone,
		Facts: b.Facts, Hosted: b.IsHosted(), NodePool: b.State.NodePool,
		HasUnit:       func(name string) bool { return unit(name).Load != "not-found" || unit(name).File != "" },
		UnitFileState: func(name string) string { return unit(name).File },
		HasSysctl:     hasSysctl,
		HasModule:     hasModule,
		Tree:          b.Tree, User: users, Group: groups, Exclude: b.Config.Payload.Exclude,
	})
}

// firewallZone returns the zone of firewalld in which the ports of a node are opened: NetworkManager
// adds interfaces to the default zone. It returns "" if the agent opens no ports.
func (b *Builder) firewallZone(ctx context.Context) (string, error) {
	if !b.Config.AppliesHostSettings() || b.otherHost != nil {
		return "", nil
	}
	return resource.DefaultZone(ctx)
}

// unitStates returns a function that returns the state of a unit, which it reads once.
func (b *Builder) unitStates(ctx context.Context) func(name string) systemd.UnitState {
	if b.otherHost != nil {
		return b.otherHost.unitState
	}
	units := map[string]systemd.UnitState{}
	return func(name string) systemd.UnitState {
		if state, known := units[name]; known || b.Systemd == nil {
			return state
		}
		state, err := b.Systemd.UnitState(ctx, name)
		if err != nil {
			state = systemd.UnitState{Load: "not-found"}
		}
		units[name] = state
		return state
	}
}

// checkJoinToken fails if the join token is for another node or another cluster. It
// runs before the host is changed.
func (b *Builder) checkJoinToken(nodeName string, cluster kube.Cluster) error {
	t := b.Inputs.JoinToken
	if t == nil {
		return nil
	}
	if t.NodeName != nodeName {
		return report.Fail(report.Refused, report.Remedyf("# use the join token of node %s, or set the host name to that of the join token:\nhostnamectl set-hostname %s", nodeName, t.NodeName),
			"join token %s is for node %s, but this node is %s", t.ID, t.NodeName, nodeName)
	}
	hashes, err := enrollment.CAHashes(cluster.CA)
	if err == nil {
		err = t.CheckCluster(hashes)
	}
	if err != nil {
		return report.Fail(report.Refused, inputs.EnrollCommand, "the join token is not valid for %s: %w", cluster.Server, err)
	}
	return nil
}
