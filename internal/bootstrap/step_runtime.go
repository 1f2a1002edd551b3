// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

// startRuntime configures CRI-O's pause image and starts CRI-O, or restarts it if
// one of its inputs has changed.
func startRuntime(ctx context.Context, j *join, log report.Log) (steps.Outcome, error) {
	if err := j.recordPlugin(ctx, stepname.Runtime); err != nil { // where the step network was skipped
		return steps.Outcome{}, err
	}
	made, err := j.Ledger.Apply(ctx, stepname.Runtime, crio.Changes(j.Plan.Runtime))
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Systemd.Reload(ctx); err != nil {
		return steps.Outcome{}, err
	}
	action, err := j.serviceAction(ctx, crio.Unit, crio.InputPaths())
	if err != nil {
		return steps.Outcome{}, err
	}
	if action == crio.NoAction && j.requires(upgrade.RestartCRIO) {
		action = crio.Restart
	}
	switch action {
	case crio.Start:
		_, err = j.Ledger.Apply(ctx, stepname.Runtime, []ledger.Change{runningUnit(crio.Unit)})
	case crio.Restart:
		log.Wait("waiting for CRI-O to restart with its new configuration", "")
		err = j.Systemd.Restart(ctx, crio.Unit)
	case crio.NoAction:
		err = j.reloadRuntime(ctx)
	}
	if err != nil {
		return steps.Outcome{}, j.DiagnosticsHost().ExplainStartFailure(ctx, crio.Unit, err)
	}
	effective, err := crio.RunningConfig(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := crio.Verify(effective, j.Plan.Runtime); err != nil {
		return steps.Outcome{}, err
	}
	version, err := crio.Version(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Outcome{
		Summary: fmt.Sprintf("CRI-O %s, pause image %s", version, effective.PauseImage),
		Changed: len(made) > 0 || action != crio.NoAction,
	}, nil
}

// reloadRuntime reloads CRI-O if files have changed since it was started. Containers are not affected, so
// a reload can be repeated.
func (j *join) reloadRuntime(ctx context.Context) error {
	action, err := j.serviceAction(ctx, crio.Unit, crio.ReloadedPaths())
	if err != nil || action == crio.NoAction {
		return err
	}
	_, err = command.Run(ctx, "systemctl", "reload", crio.Unit)
	return err
}

// runningUnit returns the change that starts a service.
func runningUnit(unit string) ledger.Change {
	return ledger.Change{Kind: ledger.Unit, Target: unit, Reason: "required on a node", Desired: ledger.State{Present: true, Active: "active"}}
}

// serviceAction returns whether a service must be started or restarted to run with
// its current inputs.
func (j *join) serviceAction(ctx context.Context, unit string, inputs []string) (crio.Action, error) {
	state, err := j.Systemd.UnitState(ctx, unit)
	if err != nil {
		return crio.NoAction, err
	}
	newest, err := j.Tree.NewestChange(inputs...)
	if err != nil {
		return crio.NoAction, err
	}
	return crio.Decide(state.Active == "active", state.Since, newest), nil
}
