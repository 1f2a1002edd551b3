package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// makePlan adapts the payload to this host. It changes nothing.
func makePlan(ctx context.Context, j *operation, _ report.Log) (outcome, error) {
	if err := j.adaptPayload(ctx); err != nil {
		return outcome{}, err
	}
	if err := j.resolveNode(); err != nil {
		return outcome{}, err
	}
	people, err := accounts.Plan(ctx, j.accounts())
	if err != nil {
		return outcome{}, err
	}
	pending, err := j.ledger.Diff(ctx, append(people, j.plan.Files...))
	if err != nil {
		return outcome{}, err
	}
	if len(pending) == 0 {
		return unchanged("%s; all is as planned", j.plan.Summary())
	}
	return outcome{summary: j.plan.Summary() + " (see: hcp-node-agent plan)", changed: true}, nil
}

// resolveNode records the node name and the cluster. The payload of an earlier join
// no longer contains the bootstrap kubeconfig; the state then contains the cluster.
func (j *operation) resolveNode() error {
	var err error
	if j.name, err = j.expectedNodeName(); err != nil {
		return err
	}
	j.state.NodeName = j.name
	kubeconfig := j.bootstrapKubeconfig()
	if kubeconfig == nil {
		return nil
	}
	cluster, err := kube.ParseCluster(kubeconfig)
	if err != nil {
		return report.Fail(report.Usage, "# run join again with a stub of now; if it goes on, look at the conditions of the NodePool, or of a standalone cluster's machine-config pool",
			"the payload's %s cannot be used: %w", bootstrapKubeconfigPath, err)
	}
	j.state.APIServer, j.state.APIServerCA = cluster.Server, cluster.CA
	return j.checkJoinToken()
}

// adaptPayload creates the plan for this host from the payload.
func (j *operation) adaptPayload(ctx context.Context) error {
	units := map[string]systemd.UnitState{}
	unit := func(name string) systemd.UnitState {
		if state, asked := units[name]; asked || j.systemd == nil {
			return state
		}
		state, err := j.systemd.UnitState(ctx, name)
		if err != nil {
			state = systemd.UnitState{Load: "not-found"}
		}
		units[name] = state
		return state
	}
	users, groups, err := accounts.Names(j.tree)
	if err != nil {
		return err
	}
	j.plan, err = ignition.Adapt(j.payload, ignition.AdaptInput{
		Facts: j.facts, Hosted: j.isHosted(), NodePool: j.state.NodePool,
		HasUnit:       func(name string) bool { return unit(name).Load != "not-found" || unit(name).File != "" },
		UnitFileState: func(name string) string { return unit(name).File },
		HasSysctl:     hostinfo.HasSysctl,
		HasModule:     func(name string) bool { return hostinfo.HasModule(ctx, name) },
		Tree:          j.tree, User: users, Group: groups, Exclude: j.config.Payload.Exclude,
	})
	if err != nil {
		return err
	}
	return j.planRegistration()
}

// isHosted reports whether the host joins a NodePool of a hosted cluster, as
// opposed to the machine config pool of a standalone cluster, whose own daemon
// compares every file.
func (j *operation) isHosted() bool { return j.state.Hosted }

// topology returns whether the host is a node of a hosted or a standalone cluster.
func (s State) topology() identity.ClusterTopology {
	return identity.ClusterTopology{Standalone: s.Exists() && !s.Hosted}
}
