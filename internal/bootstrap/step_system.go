// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// configureSystem applies kernel modules and sysctls, updates the trust store, and
// enables and starts units. If requested, it also applies the settings of the host.
func configureSystem(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	kernel, err := j.Host.Ledger.Apply(ctx, steps.System, slices.Concat(j.Plan.Modules, j.Plan.Sysctls))
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Host.Systemd.Reload(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.updateTrustStore(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.recordNewUnits(ctx); err != nil {
		return steps.Outcome{}, err
	}
	units, err := j.Host.Ledger.Apply(ctx, steps.System, j.Plan.Units)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.bootUnits(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	settings, err := j.setHostSettings(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	loaded, err := j.loadConfigs(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	restarted, err := j.restartUnits(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	summary := fmt.Sprintf("sysctls: %d, kernel modules: %d, units: %d", len(j.Plan.Sysctls), len(j.Plan.Modules),
		len(j.Plan.Units))
	if len(kernel)+len(units)+len(settings)+loaded+restarted == 0 {
		return steps.Unchanged("%s (unchanged)", summary)
	}
	return steps.Changed("%s", summary)
}
