// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// runValidation runs the checks that need the payload, before the first step that
// changes the host.
func runValidation(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	var err error
	if j.Validation, err = j.Session.Validate(ctx, j.Uplink, j.Software, j.Plan, log); err != nil {
		return steps.Outcome{}, err
	}
	result := preflight.Run(preflight.PayloadChecks(), j.Validation.Facts).ForClass(j.Host.Facts.Class())
	if j.Run.State.Upgrade.IsRollingBack() {
		result = result.WithoutRefusal() // the payload ran on this host; without it, the node stays in between
	}
	return reportFindings(result, log)
}
