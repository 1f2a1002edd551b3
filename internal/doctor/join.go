// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

func inspectJoin(_ context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.stateErr != nil {
		return []report.Finding{d.stateFinding()}, nil //nolint:nilerr // the finding contains the error
	}
	maintenance, err := joinstate.ReadMaintenance(d.run.Dir)
	return d.joinFindings(maintenance), err
}

// stateFinding returns a finding about a state that cannot be read.
func (d *diagnostics) stateFinding() report.Finding {
	if !d.host.Facts.Root && errors.Is(d.stateErr, fs.ErrPermission) {
		return note(rootRemedy, "%s", d.stateErr)
	}
	file := filepath.Join(d.run.Dir, joinstate.StateFile)
	return problem(cmp.Or(report.RemedyOf(d.stateErr), report.Remedyf("mv %[1]s %[1]s.damaged # then: hcp-node-agent "+
		"join --user-data USER_DATA (the ledger is kept, and leave can still revert its changes)", file)), "%s", d.stateErr)
}

// joinFindings returns the findings about the join itself. maintenance is nil if none is unfinished.
func (d *diagnostics) joinFindings(maintenance *joinstate.Maintenance) []report.Finding {
	var findings []report.Finding
	if d.busy {
		findings = append(findings,
			note("journalctl -b -u hcp-node-agent", "another hcp-node-agent is changing this host"))
	}
	if err := d.inputErr; err != nil {
		findings = append(findings, warning(cmp.Or(report.RemedyOf(err), "hcp-node-agent doctor --help"),
			"the inputs of the join cannot be read: %s", err))
	}
	if err := joinstate.CheckMachineID(d.run.State, d.host.Facts.MachineID, d.run.Dir); err != nil {
		return append(findings, problem(report.RemedyOf(err), "%s", err))
	}
	return append(findings, d.phaseFinding(maintenance))
}

func (d *diagnostics) phaseFinding(maintenance *joinstate.Maintenance) report.Finding {
	state := d.run.State
	pool := "the workers" // of a standalone cluster
	if state.NodePool != "" {
		pool = "NodePool " + state.NodePool
	}
	unfinished := report.SeverityProblem
	if d.busy {
		unfinished = report.SeverityNote
	}
	afterJoin := func(run string, started time.Time, step string, remedy report.Remedy) report.Finding {
		return report.Findingf(unfinished, remedy,
			"%s of %s started at %s and has not finished: the last completed step is %q",
			run, state.NodeName, report.Timestamp(started), cmp.Or(step, "none"))
	}
	switch state.Phase() {
	case joinstate.PhaseNone:
		return note("hcp-node-agent join --user-data USER_DATA", "this host has not joined a cluster with hcp-node-agent")
	case joinstate.PhaseLeaving:
		return report.Findingf(unfinished, "hcp-node-agent leave # resumes the leave",
			"a leave of %s started at %s and has not finished", pool, report.Timestamp(state.Leaving))
	case joinstate.PhaseJoining:
		text := "no step has completed"
		if last := state.LastStep; last != "" {
			text = fmt.Sprintf("the last completed step is %q, the next is %q", last, cmp.Or(state.NextStep, last))
		}
		return report.Findingf(unfinished, "hcp-node-agent join # resumes the join",
			"the join of %s, started at %s, has not finished: %s", pool, report.Timestamp(state.Started), text)
	case joinstate.PhaseUpgrading:
		return afterJoin("an upgrade", state.Upgrade.Started, state.Upgrade.Step, joinstate.ResumeUpgrade)
	}
	if m := maintenance; m != nil {
		return afterJoin("a maintenance", m.Started, m.Step, joinstate.ResumeMaintenance)
	}
	end := ""
	if until := state.Config.Until; until != "" && until != steps.Schedulable {
		end = ", up to --until " + until
	}
	return passed("%s joined %s of %s at %s%s",
		state.NodeName, pool, state.APIServer, report.Timestamp(state.Finished), end)
}
