// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// startRuntime configures CRI-O's pause image and starts CRI-O, or restarts it if
// one of its inputs has changed.
func startRuntime(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	// Where the step network was skipped.
	if err := recordPlugin(ctx, j.Host.Ledger, j.Run.State, steps.Runtime); err != nil {
		return steps.Outcome{}, err
	}
	made, err := j.Host.Ledger.Apply(ctx, steps.Runtime, crio.Changes(j.Plan.Runtime))
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Host.ReloadUnits(ctx); err != nil {
		return steps.Outcome{}, err
	}
	action, err := machine.RequiredAction(ctx, j.Host.Systemd, j.Host.Tree, systemd.CRIOUnit)
	if err != nil {
		return steps.Outcome{}, err
	}
	if action == systemd.NoAction && j.Run.State.Upgrade.Requires(effects.Restart, systemd.CRIOUnit) {
		action = systemd.RestartNeeded
	}
	switch action {
	case systemd.StartNeeded:
		if _, err = j.Host.Ledger.Apply(ctx, steps.Runtime, []ledger.Change{runningUnit(crio.Unit)}); err == nil {
			err = j.Host.Systemd.Start(ctx, crio.Unit) // the boot may be starting it
		}
	case systemd.RestartNeeded:
		log.Wait("waiting for CRI-O to restart with its new configuration", "")
		err = j.Host.Systemd.Restart(ctx, crio.Unit)
	case systemd.NoAction:
		err = reloadRuntime(ctx, j.Host)
	}
	if err != nil {
		return steps.Outcome{}, j.diagnostics().ExplainStartFailure(ctx, crio.Unit, err)
	}
	effective, err := crio.RunningConfig(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := crio.Verify(effective, j.Plan.Runtime); err != nil {
		return steps.Outcome{}, err
	}
	version, err := cri.Version(ctx, cri.Socket)
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Outcome{
		Summary: fmt.Sprintf("CRI-O %s, pause image %s", version, effective.PauseImage),
		Changed: len(made) > 0 || action != systemd.NoAction,
	}, nil
}

// reloadRuntime reloads CRI-O if files have changed since it was started. Containers are not affected, so
// a reload can be repeated.
func reloadRuntime(ctx context.Context, host *machine.Machine) error {
	state, err := host.Systemd.UnitState(ctx, systemd.CRIOUnit)
	if err != nil {
		return err
	}
	newest, err := host.Tree.NewestChange(effects.Inputs(effects.Reload, systemd.CRIOUnit)...)
	if err != nil || state.Required(newest) == systemd.NoAction {
		return err
	}
	_, err = command.Run(ctx, "systemctl", "reload", crio.Unit)
	return err
}

// runningUnit returns the change that starts a service.
func runningUnit(unit string) ledger.Change {
	return ledger.Change{
		Kind:    ledger.Unit,
		Target:  unit,
		Reason:  "required on a node",
		Desired: ledger.State{Present: true, Active: "active"},
	}
}
