package bootstrap

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// diagnostics is a diagnostics session of this host. It is not modified after it
// was opened: checks that need a plan or a payload create a copy of the operation.
type diagnostics struct {
	*operation
	options   Options
	stateErr  error // why the state is unknown
	inputErr  error // why the inputs are unknown
	ledgerErr error // why the ledger is unknown
	busy      bool  // another run of the agent is changing this host
	now       time.Time
}

// openDiagnostics opens the parts of the host that can be opened.
func openDiagnostics(ctx context.Context, options Options) (*diagnostics, []DoctorFinding) {
	p := &diagnostics{options: options, now: time.Now()}
	j := &operation{dir: options.StateDir}
	p.operation = j
	j.state, p.stateErr = readState(j.dir)
	options.Config.ApproveWith = "" // the diagnostics approve nothing
	j.config = mergeSaved(options.Config, j.state)
	if options.Config.UserData != "" || options.Config.Endpoint != "" || j.state.Exists() {
		j.inputs, p.inputErr = readInputs(options.Config, j.state, j.dir, false, options.Stdin)
	}
	if !j.state.Exists() {
		j.state.setSource(j.inputs.userData)
	}
	j.name = j.state.NodeName
	p.busy, _ = ledger.IsLocked(j.dir) // cannot be determined without root
	// Use ctx, because the connection to systemd is closed when the context of the
	// limit ends.
	opened, err := runWithLimit(ctx, 20*time.Second, func(context.Context) openResult {
		m, err := openWithoutLedger(ctx, j.dir)
		return openResult{m, err}
	})
	var findings []DoctorFinding
	if err = errors.Join(err, opened.err); err != nil {
		findings = append(findings, DoctorFinding{Section: "host", Severity: report.SeverityWarning, Text: "the host could not be opened as a whole: " + err.Error()})
	}
	if j.localHost = opened.localHost; j.localHost == nil {
		j.localHost = &localHost{systemdErr: systemd.ErrUnreachable, bridge: &migrate.Driver{Dir: j.dir}}
		j.tree, _ = hostfs.OpenTree("/") // succeeded when the process started
		j.facts, _ = hostinfo.Gather(ctx)
		j.bridge.Tree = j.tree
	}
	if j.ledger, p.ledgerErr = ledger.OpenReadOnly(j.dir, j.drivers()); p.ledgerErr != nil {
		j.ledger = nil
	}
	if !j.facts.Root {
		findings = append(findings, DoctorFinding{
			Section: "host", Severity: report.SeverityNote, Text: "without root much is not seen: the state of the join, Open vSwitch, certificates, journals", Remedy: rootRemedy,
		})
	}
	return p, findings
}

type openResult struct {
	localHost *localHost
	err       error
}

// phase returns the phase of the join, "unknown" if the state cannot be read.
func (p *diagnostics) phase() string {
	if p.stateErr != nil {
		return "unknown"
	}
	return p.state.phase()
}

// hasStarted reports whether a join was started on this host and no leave is in
// progress.
func (p *diagnostics) hasStarted() bool { return p.phase() == "joining" || p.phase() == "joined" }
