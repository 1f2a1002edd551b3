package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// makePlan adapts the payload to this host. It changes nothing.
func makePlan(ctx context.Context, j *join, _ report.Log) (steps.Outcome, error) {
	if err := j.AdaptPayload(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.ResolveNode(); err != nil {
		return steps.Outcome{}, err
	}
	people, err := accounts.Plan(ctx, j.Accounts())
	if err != nil {
		return steps.Outcome{}, err
	}
	pending, err := j.Ledger.Diff(ctx, append(people, j.Plan.Files...))
	if err != nil {
		return steps.Outcome{}, err
	}
	if len(pending) == 0 {
		return steps.Unchanged("%s; all is as planned", j.Plan.Summary())
	}
	return steps.Outcome{Summary: j.Plan.Summary() + " (see: hcp-node-agent plan)", Changed: true}, nil
}
