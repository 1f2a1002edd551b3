// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// diagnostics is a diagnostics session of this host. It is not modified after it
// was opened: checks that need a plan or a payload use a session of their own.
type diagnostics struct {
	run      plan.Run
	host     machine.Reader
	stateErr error // why the state is unknown
	inputErr error // why the inputs are unknown
	busy     bool  // another run of the agent is changing this host
	now      time.Time
}

// session returns a new session of a run on this host.
func (d *diagnostics) session() *plan.Session {
	run := d.run
	return &plan.Session{Run: &run, Host: d.host}
}

// openDiagnostics opens the parts of the host that can be opened.
func openDiagnostics(ctx context.Context, options request.Options) (*diagnostics, []report.Finding) {
	d := &diagnostics{run: plan.Run{Dir: options.StateDir, ServerTimeout: serverTimeout}, now: time.Now()}
	d.run.State, d.stateErr = joinstate.Read(d.run.Dir)
	options.Config.ApproveWith = "" // the diagnostics approve nothing
	options.Offline = true
	need := request.SettingsOnly
	if options.Config.HasUserData() || d.run.State.Exists() {
		need = request.UserDataRequired
	}
	d.run.Request, d.inputErr = request.Read(ctx, options, d.run.State, need)
	if !d.run.State.Exists() {
		d.run.State.SetSource(d.run.UserData)
	}
	d.busy, _ = ledger.IsLocked(d.run.Dir) // cannot be determined without root
	// Use ctx, because the connection to systemd is closed when the context of the
	// limit ends.
	opened, err := runWithLimit(ctx, 20*time.Second, func(context.Context) inspected {
		host, err := machine.Inspect(ctx, d.run.Dir, true)
		return inspected{host, err}
	})
	d.host = opened.host
	if d.host.Files == nil { // systemd or NetworkManager did not respond in time
		d.host, _ = machine.Inspect(ctx, d.run.Dir, false)
	}
	var findings []report.Finding
	if err = errors.Join(err, opened.err); err != nil {
		findings = append(findings, warning("", "the host's state could not be read completely: %s", err))
	}
	if !d.host.Facts.Root {
		findings = append(findings, note(rootRemedy,
			"some checks require root and are limited: the state of the join, Open vSwitch, certificates, journals"))
	}
	for i := range findings {
		findings[i].Check = hostSection
	}
	return d, findings
}

type inspected struct {
	host machine.Reader
	err  error
}

// phase returns the phase of the host, PhaseUnknown if the state cannot be read.
func (d *diagnostics) phase() joinstate.Phase {
	if d.stateErr != nil {
		return joinstate.PhaseUnknown
	}
	return d.run.State.Phase()
}

// hasStarted reports whether a join was started on this host and no leave is in
// progress.
func (d *diagnostics) hasStarted() bool {
	switch d.phase() {
	case joinstate.PhaseJoining, joinstate.PhaseJoined, joinstate.PhaseUpgrading:
		return true
	}
	return false
}
