package bootstrap

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// configureSystem applies kernel modules and sysctls, updates the trust store, and
// enables and starts units.
func configureSystem(ctx context.Context, j *join, _ report.Log) (steps.Outcome, error) {
	kernel, err := j.Ledger.Apply(ctx, "host", append(j.Plan.Modules, j.Plan.Sysctls...))
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Systemd.Reload(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.updateTrustIfNeeded(ctx); err != nil {
		return steps.Outcome{}, err
	}
	units, err := j.Ledger.Apply(ctx, "host", j.Plan.Units)
	if err != nil {
		return steps.Outcome{}, err
	}
	summary := fmt.Sprintf("%d kernel parameters, %d modules, %d units", len(j.Plan.Sysctls), len(j.Plan.Modules), len(j.Plan.Units))
	if len(kernel)+len(units) == 0 {
		return steps.Unchanged("%s are as they should be", summary)
	}
	return steps.Changed("%s", summary)
}

// updateTrustIfNeeded updates the trust store if the payload contains a CA for it.
// A payload without additional CAs contains an empty file.
func (j *join) updateTrustIfNeeded(ctx context.Context) error {
	hasCA := func(c ledger.Change) bool { return path.Dir(c.Target) == crio.TrustAnchorsDir && c.Desired.Size > 0 }
	if !slices.ContainsFunc(j.Plan.Files, hasCA) {
		return nil
	}
	return UpdateTrustStore(ctx)
}
