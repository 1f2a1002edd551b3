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
	options   inputs.Options
	stateErr  error // why the state is unknown
	inputErr  error // why the inputs are unknown
	ledgerErr error // why the ledger is unknown
	busy      bool  // another run of the agent is changing this host
	now       time.Time
}

// openDiagnostics opens the parts of the host that can be opened.
func openDiagnostics(ctx context.Context, options inputs.Options) (*diagnostics, []Finding) {
	p := &diagnostics{options: options, now: time.Now()}
	j := &plan.Builder{Dir: options.StateDir}
	p.Builder = j
	j.State, p.stateErr = joinstate.Read(j.Dir)
	options.Config.ApproveWith = "" // the diagnostics approve nothing
	j.Config = inputs.MergeSaved(options.Config, j.State)
	if options.Config.UserData != "" || options.Config.Endpoint != "" || j.State.Exists() {
		j.Inputs, p.inputErr = inputs.Read(options.Config, j.State, j.Dir, false, options.Stdin)
	}
	if !j.State.Exists() {
		j.State.SetSource(j.Inputs.UserData)
	}
	p.busy, _ = ledger.IsLocked(j.Dir) // cannot be determined without root
	// Use ctx, because the connection to systemd is closed when the context of the
	// limit ends.
	opened, err := runWithLimit(ctx, 20*time.Second, func(context.Context) openResult {
		m, err := machine.OpenWithoutLedger(ctx, j.Dir)
		return openResult{machine: m, err: err}
	})
	var findings []Finding
	if err = errors.Join(err, opened.err); err != nil {
		findings = append(findings, Finding{Section: "host", Severity: report.SeverityWarning, Text: "the host could not be opened as a whole: " + err.Error()})
	}
	if j.Machine = opened.machine; j.Machine == nil {
		j.Machine = &machine.Machine{SystemdErr: systemd.ErrUnreachable, Bridge: &migrate.Driver{Dir: j.Dir}, Plugin: &networkplugin.Driver{}}
		j.Tree, _ = hostfs.OpenTree("/") // succeeded when the process started
		j.Facts, _ = hostinfo.Gather(ctx)
		j.Bridge.Tree = j.Tree
	}
	if j.Ledger, p.ledgerErr = ledger.OpenReadOnly(j.Dir, j.Drivers()); p.ledgerErr != nil {
		j.Ledger = nil
	}
	if !j.Facts.Root {
		findings = append(findings, Finding{
			Section: "host", Severity: report.SeverityNote, Text: "without root much is not seen: the state of the join, Open vSwitch, certificates, journals", Remedy: rootRemedy,
		})
	}
	return p, findings
}

type openResult struct {
	machine *machine.Machine
	err     error
}

// phase returns the phase of the join, "unknown" if the state cannot be read.
func (p *diagnostics) phase() string {
	if p.stateErr != nil {
		return "unknown"
	}
	return p.State.Phase()
}

// hasStarted reports whether a join was started on this host and no leave is in
// progress.
func (p *diagnostics) hasStarted() bool { return p.phase() == "joining" || p.phase() == "joined" }
