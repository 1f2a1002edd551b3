// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// AdoptionFacts are the facts that decide whether a host can be adopted: recorded as joined although the agent did not
// join it.
type AdoptionFacts struct {
	Kubelet, CRIO systemd.UnitState
	NodeName      string // that the agent would use
	MachineID     string
	Image         *ImageUpdate // as in Plan

	Identity    identity.State // of kubelet, compared with the payload's cluster and NodeName
	IdentityErr error
	Node        *corev1.Node // nil: it does not exist, or was not requested
}

// CheckUnrecorded fails if a join, or changes without a join, are recorded. Those of an unfinished adoption are void.
func CheckUnrecorded(state joinstate.State, items []ledger.Item, adopting bool) error {
	switch {
	case state.Exists():
		return report.Fail(report.Refused, "hcp-node-agent status", "this host has a record of its join, and is not adopted")
	case len(items) > 0 && !adopting:
		return report.Fail(report.Refused, "hcp-node-agent leave --dry-run # lists the changes; leave reverts them",
			"changes of this host are recorded without a join (%d), and it is not adopted", len(items))
	}
	return nil
}

// AdoptionFacts gathers the facts, those of the cluster with the node's own credential. It sends no request unless the
// credential is for the cluster of the payload.
func (s *Session) AdoptionFacts(
	ctx context.Context, p *Plan, payload *ignition.Payload, log report.Log,
) (AdoptionFacts, error) {
	f := AdoptionFacts{NodeName: p.NodeName, MachineID: s.Host.Facts.MachineID, Image: p.Image}
	var err error
	if f.Kubelet, err = s.Host.Units.UnitState(ctx, kubelet.UnitName); err != nil {
		return f, err
	}
	if f.CRIO, err = s.Host.Units.UnitState(ctx, crio.Unit); err != nil {
		return f, err
	}
	p.RecordIn(&s.Run.State)
	if f.Identity, f.IdentityErr = s.Identity(payload, log, nil).Check(); f.Identity != identity.Valid {
		return f, nil
	}
	client, err := s.NodeClient(payload, log)
	if err != nil {
		return f, err
	}
	f.Node, err = kube.Fetch(ctx, client.Conn, log, "getting Node "+p.NodeName,
		func() (*corev1.Node, error) { return client.Conn.Client.Nodes().Find(ctx, p.NodeName) })
	return f, err
}

// Check fails unless the host is a Ready node of the payload's cluster.
func (f AdoptionFacts) Check() error {
	for _, unit := range []struct {
		name  string
		state systemd.UnitState
	}{{kubelet.UnitName, f.Kubelet}, {crio.Unit, f.CRIO}} {
		if unit.state.Active != "active" {
			return refuseAdoption(report.Remedyf("systemctl status --no-pager %s # a host that is no node joins without "+
				"--adopt", unit.name), "%s is %s", unit.name, unit.state.Active)
		}
	}
	switch {
	case f.IdentityErr != nil:
		return refuseAdoption("# adopt the host with the user data of its own cluster, as its own node; to join another "+
			"cluster, it must leave its own one first", "%w", f.IdentityErr)
	case f.Identity == identity.Missing:
		return refuseAdoption("# join the host without --adopt: hcp-node-agent join",
			"kubelet has no client certificate in %s", identity.KubeconfigPath)
	case f.Identity != identity.Valid:
		return refuseAdoption("journalctl -b -u kubelet --no-pager -n 50 # shows why kubelet has not renewed it",
			"the client certificate of kubelet has expired")
	case f.Node == nil:
		return refuseAdoption("systemctl restart kubelet # registers the Node again; then repeat the command",
			"Node %s does not exist in the cluster", f.NodeName)
	case kube.IsOtherMachine(f.Node, f.MachineID):
		return refuseAdoption(report.Remedyf("oc get node %s -o wide # shows the machine that reports as this Node",
			f.NodeName), "Node %s is another machine (machine-id %s)", f.NodeName, f.Node.Status.NodeInfo.MachineID)
	case !kube.IsReady(f.Node):
		return refuseAdoption(report.Remedyf("oc describe node %s # shows why; adopt the host when the Node is Ready",
			f.NodeName), "Node %s is not Ready", f.NodeName)
	case f.Image != nil:
		return refuseAdoption("# adopt the host with the user data of a NodePool of the release that the node runs",
			"this host runs %s, the payload requires %s", f.Image.Booted, f.Image.Image)
	}
	return nil
}

func refuseAdoption(remedy report.Remedy, format string, args ...any) error {
	return report.Fail(report.Refused, remedy, "this host is not adopted: "+format, args...)
}
