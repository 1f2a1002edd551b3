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
func startRuntime(ctx context.Context, j *Builder, log report.Log) (Outcome, error) {
	wanted, err := j.WantedRuntime()
	if err != nil {
		return Outcome{}, err
	}
	if err := j.recordPlugin(ctx, "runtime"); err != nil { // where the step network was skipped
		return Outcome{}, err
	}
	made, err := j.Ledger.Apply(ctx, "runtime", crio.Changes(wanted))
	if err != nil {
		return Outcome{}, err
	}
	if err := j.Systemd.Reload(ctx); err != nil {
		return Outcome{}, err
	}
	action, err := j.serviceAction(ctx, crio.Unit, crio.InputPaths())
	if err != nil {
		return Outcome{}, err
	}
	switch action {
	case crio.Start:
		_, err = j.Ledger.Apply(ctx, "runtime", []ledger.Change{runningUnit(crio.Unit)})
	case crio.Restart:
		log.Wait("for CRI-O to restart with its new configuration", "")
		err = j.Systemd.Restart(ctx, crio.Unit)
	case crio.NoAction:
	}
	if err != nil {
		return Outcome{}, j.DiagnosticsHost().ExplainStartFailure(ctx, crio.Unit, err)
	}
	effective, err := crio.RunningConfig(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if err := crio.Verify(effective, wanted); err != nil {
		return Outcome{}, err
	}
	version, err := crio.Version(ctx)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Summary: fmt.Sprintf("CRI-O %s, pause image %s", version, effective.PauseImage),
		Changed: len(made) > 0 || action != crio.NoAction,
	}, nil
}

// runningUnit returns the change that starts a service.
func runningUnit(unit string) ledger.Change {
	return ledger.Change{Kind: ledger.Unit, Target: unit, Reason: "a node runs it", Desired: ledger.State{Present: true, Active: "active"}}
}

// WantedRuntime returns the CRI-O configuration that the release requires.
func (j *Builder) WantedRuntime() (crio.Config, error) {
	content, _, found := j.Payload.File("/etc/crio/crio.conf.d/00-default")
	if !found {
		content = nil
	}
	payload, err := crio.Parse(content)
	if err != nil {
		return crio.Config{}, err
	}
	return crio.Desired(payload, j.Config.PauseImage)
}

// serviceAction returns whether a service must be started or restarted to run with
// its current inputs.
func (j *Builder) serviceAction(ctx context.Context, unit string, inputs []string) (crio.Action, error) {
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
