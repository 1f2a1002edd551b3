package bootstrap

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// startRuntime configures CRI-O's pause image and starts CRI-O, or restarts it if
// one of its inputs has changed.
func startRuntime(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	wanted, err := j.wantedRuntime()
	if err != nil {
		return outcome{}, err
	}
	if err := j.recordPlugin(ctx, "runtime"); err != nil { // where the step network was skipped
		return outcome{}, err
	}
	made, err := j.ledger.Apply(ctx, "runtime", crio.Changes(wanted))
	if err != nil {
		return outcome{}, err
	}
	if err := j.systemd.Reload(ctx); err != nil {
		return outcome{}, err
	}
	action, err := j.serviceAction(ctx, crio.Unit, crio.InputPaths())
	if err != nil {
		return outcome{}, err
	}
	switch action {
	case crio.Start:
		_, err = j.ledger.Apply(ctx, "runtime", []ledger.Change{runningUnit(crio.Unit)})
	case crio.Restart:
		log.Wait("for CRI-O to restart with its new configuration", "")
		err = j.systemd.Restart(ctx, crio.Unit)
	case crio.NoAction:
	}
	if err != nil {
		return outcome{}, j.diagnosticsHost().ExplainStartFailure(ctx, crio.Unit, err)
	}
	effective, err := crio.RunningConfig(ctx)
	if err != nil {
		return outcome{}, err
	}
	if err := crio.Verify(effective, wanted); err != nil {
		return outcome{}, err
	}
	version, err := crio.Version(ctx)
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		summary: fmt.Sprintf("CRI-O %s, pause image %s", version, effective.PauseImage),
		changed: len(made) > 0 || action != crio.NoAction,
	}, nil
}

// runningUnit returns the change that starts a service.
func runningUnit(unit string) ledger.Change {
	return ledger.Change{Kind: ledger.Unit, Target: unit, Reason: "a node runs it", Desired: ledger.State{Present: true, Active: "active"}}
}

// wantedRuntime returns the CRI-O configuration that the release requires.
func (j *operation) wantedRuntime() (crio.Config, error) {
	content, _, found := j.payload.File("/etc/crio/crio.conf.d/00-default")
	if !found {
		content = nil
	}
	payload, err := crio.Parse(content)
	if err != nil {
		return crio.Config{}, err
	}
	return crio.Desired(payload, j.config.PauseImage)
}

// serviceAction returns whether a service must be started or restarted to run with
// its current inputs.
func (j *operation) serviceAction(ctx context.Context, unit string, inputs []string) (crio.Action, error) {
	state, err := j.systemd.UnitState(ctx, unit)
	if err != nil {
		return crio.NoAction, err
	}
	newest, err := j.tree.NewestChange(inputs...)
	if err != nil {
		return crio.NoAction, err
	}
	return crio.Decide(state.Active == "active", state.Since, newest), nil
}
