package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// makePlan adapts the payload to this host. It changes nothing.
func makePlan(ctx context.Context, j *Builder, _ report.Log) (Outcome, error) {
	if err := j.AdaptPayload(ctx); err != nil {
		return Outcome{}, err
	}
	if err := j.ResolveNode(); err != nil {
		return Outcome{}, err
	}
	people, err := accounts.Plan(ctx, j.Accounts())
	if err != nil {
		return Outcome{}, err
	}
	pending, err := j.Ledger.Diff(ctx, append(people, j.Plan.Files...))
	if err != nil {
		return Outcome{}, err
	}
	if len(pending) == 0 {
		return Unchanged("%s; all is as planned", j.Plan.Summary())
	}
	return Outcome{Summary: j.Plan.Summary() + " (see: hcp-node-agent plan)", Changed: true}, nil
}

// ResolveNode records the node name and the cluster. The payload of an earlier join
// no longer contains the bootstrap kubeconfig; the state then contains the cluster.
func (j *Builder) ResolveNode() error {
	var err error
	if j.NodeName, err = j.expectedNodeName(); err != nil {
		return err
	}
	j.State.NodeName = j.NodeName
	kubeconfig := j.BootstrapKubeconfig()
	if kubeconfig == nil {
		return nil
	}
	cluster, err := kubelet.ParseCluster(kubeconfig)
	if err != nil {
		return report.Fail(report.Usage, "# run join again with a stub of now; if it goes on, look at the conditions of the NodePool, or of a standalone cluster's machine-config pool",
			"the payload's %s cannot be used: %w", BootstrapKubeconfigPath, err)
	}
	j.State.APIServer, j.State.APIServerCA = cluster.Server, cluster.CA
	return j.checkJoinToken()
}

// AdaptPayload creates the plan for this host from the payload.
func (j *Builder) AdaptPayload(ctx context.Context) error {
	units := map[string]systemd.UnitState{}
	unit := func(name string) systemd.UnitState {
		if state, asked := units[name]; asked || j.Systemd == nil {
			return state
		}
		state, err := j.Systemd.UnitState(ctx, name)
		if err != nil {
			state = systemd.UnitState{Load: "not-found"}
		}
		units[name] = state
		return state
	}
	users, groups, err := accounts.Names(j.Tree)
	if err != nil {
		return err
	}
	j.Plan, err = ignition.Adapt(j.Payload, ignition.AdaptInput{
		Facts: j.Facts, Hosted: j.IsHosted(), NodePool: j.State.NodePool,
		HasUnit:       func(name string) bool { return unit(name).Load != "not-found" || unit(name).File != "" },
		UnitFileState: func(name string) string { return unit(name).File },
		HasSysctl:     hostinfo.HasSysctl,
		HasModule:     func(name string) bool { return hostinfo.HasModule(ctx, name) },
		Tree:          j.Tree, User: users, Group: groups, Exclude: j.Config.Payload.Exclude,
	})
	if err != nil {
		return err
	}
	return j.planRegistration()
}

// IsHosted reports whether the host joins a NodePool of a hosted cluster, as
// opposed to the machine config pool of a standalone cluster, whose own daemon
// compares every file.
func (j *Builder) IsHosted() bool { return j.State.Hosted }

// topology returns whether the host is a node of a hosted or a standalone cluster.
func (s State) topology() kubelet.ClusterTopology {
	return kubelet.ClusterTopology{Standalone: s.Exists() && !s.Hosted}
}
