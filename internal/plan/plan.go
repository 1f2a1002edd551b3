// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Plan contains all that a join does to this host. Build returns it, and nothing changes it
// afterwards: the plan command prints the value that the steps apply.
type Plan struct {
	*adapt.Plan // what becomes of the payload's entries, with kubelet's labels and taints

	NodeName string
	Cluster  kube.Cluster // zero: the payload does not name it any more
	Runtime  crio.Config
	// Registration checks whether the cluster accepts the Node with its labels and taints.
	Registration *kubelet.RegistrationCheck
	// Migration attaches the uplink to br-ex; nil: the step network is skipped, or the packages
	// that it needs are installed first.
	Migration *ovs.Migration
}

// Build decides what a join does to this host. The payload must have been loaded.
func (b *Builder) Build(ctx context.Context) (*Plan, error) {
	adapted, err := b.adaptPayload(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{Plan: adapted}
	if p.NodeName, err = b.expectedNodeName(); err != nil {
		return nil, err
	}
	locks, err := b.versionLocks(ctx)
	if err != nil {
		return nil, err
	}
	p.HostSettings = append(p.HostSettings, locks...)
	if kubeconfig := b.BootstrapKubeconfig(); kubeconfig != nil {
		if p.Cluster, err = parseCluster(kubeconfig); err != nil {
			return nil, err
		}
		if err := b.checkJoinToken(p.NodeName, p.Cluster); err != nil {
			return nil, err
		}
	}
	if p.Runtime, err = b.desiredRuntime(); err != nil {
		return nil, err
	}
	if err := b.planRegistration(p); err != nil {
		return nil, err
	}
	if p.Registration, err = b.registrationCheck(p); err != nil {
		return nil, err
	}
	if !slices.Contains(b.Config.Skip, steps.Network) {
		p.Migration, err = b.possibleMigration(ctx)
	}
	return p, err
}

// parseCluster reads the cluster from the payload's bootstrap kubeconfig.
func parseCluster(kubeconfig []byte) (kube.Cluster, error) {
	cluster, err := kube.ParseCluster(kubeconfig)
	if err != nil {
		return cluster, report.Fail(report.Usage, "# run join again with current user data; if the failure persists, check the conditions of the NodePool or, on a standalone cluster, of the machine config pool",
			"reading %s of the payload: %w", ignition.BootstrapKubeconfigPath, err)
	}
	return cluster, nil
}

// possibleMigration plans the migration of the uplink. It returns nil if NetworkManager does not
// run, which a check reports, or if the packages step is to install what the migration needs.
func (b *Builder) possibleMigration(ctx context.Context) (*ovs.Migration, error) {
	if b.NM == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	facts, err := ovs.Gather(ctx, b.NM)
	if err != nil || b.lacksOpenVSwitch(facts) {
		return nil, err
	}
	migration, err := b.planMigration(facts)
	return &migration, err
}

// RecordIn stores the node name and the cluster in the state of the join.
func (p *Plan) RecordIn(state *joinstate.State) {
	state.NodeName = p.NodeName
	if p.Cluster.Server != "" {
		state.APIServer, state.APIServerCA = p.Cluster.Server, p.Cluster.CA
	}
}

// Accounts returns the users and groups of the plan.
func (b *Builder) Accounts(p *Plan) accounts.Input {
	return accounts.Input{Passwd: p.Accounts, Tree: b.Tree, Live: true, Items: b.Ledger.Items()}
}

// Differences lists what this plan changes that an older one of the same host did not, or
// changed in another way, and what it no longer changes. The owners of files are not compared:
// their numeric IDs are known only after the accounts were created.
func (p *Plan) Differences(old *Plan) []string {
	planned := func(p *Plan) map[string]ledger.State {
		states := map[string]ledger.State{}
		for _, change := range slices.Concat(p.Changes(), p.Kubelet) {
			change.Desired.UID, change.Desired.GID = nil, nil
			states[change.Key()] = change.Desired
		}
		return states
	}
	before, after := planned(old), planned(p)
	var lines []string
	for _, key := range sortedKeys(after) {
		state, known := before[key]
		if !known || !reflect.DeepEqual(state, after[key]) {
			lines = append(lines, fmt.Sprintf("%s will be %s", key, after[key]))
		}
	}
	for _, key := range sortedKeys(before) {
		if _, known := after[key]; !known {
			lines = append(lines, key+" will no longer be changed")
		}
	}
	if old.Migration != nil && p.Migration != nil {
		lines = append(lines, p.Migration.Differences(*old.Migration)...)
	}
	return lines
}
