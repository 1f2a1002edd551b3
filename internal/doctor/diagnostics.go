// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// diagnostics is a diagnostics session of this host. It is not modified after it
// was opened: checks that need a plan or a payload create a copy of the builder.
type diagnostics struct {
	*plan.Builder
	stateErr  error // why the state is unknown
	inputErr  error // why the inputs are unknown
	ledgerErr error // why the ledger is unknown
	busy      bool  // another run of the agent is changing this host
	now       time.Time
}

// openDiagnostics opens the parts of the host that can be opened.
func openDiagnostics(ctx context.Context, options inputs.Options) (*diagnostics, []report.Finding) {
	b := &plan.Builder{Dir: options.StateDir}
	d := &diagnostics{Builder: b, now: time.Now()}
	b.State, d.stateErr = joinstate.Read(b.Dir)
	options.Config.ApproveWith = "" // the diagnostics approve nothing
	b.Config = inputs.MergeSaved(options.Config, b.State)
	if options.Config.UserData != "" || options.Config.Endpoint != "" || b.State.Exists() {
		b.Inputs, d.inputErr = inputs.Read(options, b.State)
	}
	if !b.State.Exists() {
		b.State.SetSource(b.Inputs.UserData)
	}
	d.busy, _ = ledger.IsLocked(b.Dir) // cannot be determined without root
	// Use ctx, because the connection to systemd is closed when the context of the
	// limit ends.
	opened, err := runWithLimit(ctx, 20*time.Second, func(context.Context) openResult {
		m, err := machine.OpenWithoutLedger(ctx, b.Dir)
		return openResult{machine: m, err: err}
	})
	var findings []report.Finding
	if err = errors.Join(err, opened.err); err != nil {
		findings = append(findings, warning("", "the host's state could not be read completely: %s", err))
	}
	if b.Machine = opened.machine; b.Machine == nil {
		b.Machine = &machine.Machine{
			SystemdErr: systemd.ErrUnreachable,
			Bridge:     &migrate.Driver{Dir: b.Dir},
			Plugin:     &networkplugin.Driver{},
		}
		b.Tree, _ = hostfs.OpenTree("/") // succeeded when the process started
		b.Facts, _ = hostinfo.Gather(ctx)
		b.Bridge.Tree = b.Tree
	}
	if b.Ledger, d.ledgerErr = ledger.OpenReadOnly(b.Dir, b.Drivers()); d.ledgerErr != nil {
		b.Ledger = nil
	}
	if !b.Facts.Root {
		findings = append(findings, note(rootRemedy,
			"some checks require root and are limited: the state of the join, Open vSwitch, certificates, journals"))
	}
	for i := range findings {
		findings[i].Check = "host"
	}
	return d, findings
}

type openResult struct {
	machine *machine.Machine
	err     error
}

// phase returns the phase of the host, PhaseUnknown if the state cannot be read.
func (d *diagnostics) phase() joinstate.Phase {
	if d.stateErr != nil {
		return joinstate.PhaseUnknown
	}
	return d.State.Phase()
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
