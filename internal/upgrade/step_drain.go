// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// DefaultDrainTimeout is the maximum time to evict the pods of a node that is upgraded.
const DefaultDrainTimeout = node.DefaultDrainTimeout

// drainNode drains the node if a change of the upgrade requires it. It is the first step that affects the
// node.
func drainNode(ctx context.Context, r *run, log report.Log) (steps.Outcome, error) {
	client, required, err := r.checkDrain(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := r.commit(required); err != nil {
		return steps.Outcome{}, err
	}
	u := r.state().Upgrade
	switch {
	case !u.Effects.NeedsDrain():
		return steps.Unchanged("not required by the changes")
	case !u.Drained.IsZero():
		return steps.Unchanged("the node is drained")
	case !u.Drain:
		return steps.Unchanged("the node is not drained")
	}
	if err := r.beginDrain(time.Now().UTC()); err != nil {
		return steps.Outcome{}, err
	}
	if err := client.Drain(ctx, node.ForUpgrade, time.Duration(u.DrainTimeout), u.DrainBegan); err != nil {
		return steps.Outcome{}, withNoDrain(err)
	}
	u.Drained = u.DrainBegan
	return steps.Outcome{Summary: "the node is cordoned and drained", Changed: true},
		joinstate.Write(r.node.Run.Dir, *r.state())
}

// beginDrain records durably when the drain begins, and its timeout. A resumed drain keeps both, unless this run was
// given a timeout.
func (r *run) beginDrain(now time.Time) error {
	u := r.state().Upgrade
	if !u.DrainBegan.IsZero() && r.options.DrainTimeout == 0 {
		return nil
	}
	u.DrainBegan, u.DrainTimeout = now, config.Duration(r.options.DrainTimeout)
	return joinstate.Write(r.node.Run.Dir, *r.state())
}

// checkDrain fails if the upgrade requires a drain that would lose pods. It returns the node and the effects of the
// upgrade.
func (r *run) checkDrain(ctx context.Context, log report.Log) (*node.Node, effects.Effects, error) {
	required, err := r.node.Session.UpgradeEffects(ctx, r.node.Plan, r.node.Validation.ReplacedSoftware())
	if err != nil {
		return nil, nil, err
	}
	client, err := r.node.Session.NodeClient(r.node.Loaded.Payload, log)
	if err != nil {
		return nil, nil, err
	}
	if r.state().Upgrade == nil && required.NeedsDrain() && !r.options.NoDrain {
		if err := client.CheckDrain(ctx); err != nil {
			return nil, nil, withNoDrain(err)
		}
	}
	return client, required, nil
}

// withNoDrain adds the command that upgrades without a drain to the remedy of err.
func withNoDrain(err error) error {
	return report.AddRemedy(err, "# or add --no-drain to the command: pods are then stopped without an eviction")
}
