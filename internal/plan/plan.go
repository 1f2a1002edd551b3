// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
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
	// Image is the image that the host boots before the other changes are made; nil: it runs the right one.
	Image *ImageUpdate
	// OtherImage is the image that the payload requires in place of the one that a joined host runs. Only an upgrade
	// boots it, because it drains the node. nil: the host runs the right one.
	OtherImage *ImageUpdate
	// Migration attaches the uplink to br-ex; nil: the step network is skipped, or the packages
	// that it needs are installed first.
	Migration *ovs.Migration
}

// RecordIn stores the node name and the cluster in the state of the join.
func (p *Plan) RecordIn(state *joinstate.State) {
	state.NodeName = p.NodeName
	if p.Cluster.Server != "" {
		state.SetAPIServer(p.Cluster.Server)
		state.APIServerCA = p.Cluster.CA
	}
}

// Accounts returns the users and groups of the plan.
func (s *Session) Accounts(p *Plan) accounts.Input {
	return accounts.Input{Passwd: p.Accounts, Tree: s.Host.Files, Live: true, Items: s.Host.Ledger.Items()}
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
