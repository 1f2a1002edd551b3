// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// joinFacts contains the facts about the join itself.
type joinFacts struct {
	State     joinstate.State
	Err       error // why the state is unknown
	InputsErr error // why the inputs of the join are unknown
	Root      bool
	Busy      bool   // another run of the agent is changing this host
	MachineID string // machine-id
	Dir       string

	Maintenance *joinstate.Maintenance // unfinished; nil if there is none
}

func inspectJoin(_ context.Context, d *diagnostics) ([]report.Finding, error) {
	facts := joinFacts{
		State:     d.State,
		Err:       d.stateErr,
		InputsErr: d.inputErr,
		Root:      d.Facts.Root,
		Busy:      d.busy,
		MachineID: d.Facts.MachineID,
		Dir:       d.Dir,
	}
	var err error
	if facts.Err == nil {
		facts.Maintenance, err = joinstate.ReadMaintenance(d.Dir)
	}
	return facts.evaluate(), err
}

func (f joinFacts) evaluate() []report.Finding {
	if f.Err != nil {
		if !f.Root && errors.Is(f.Err, fs.ErrPermission) {
			return []report.Finding{notInspected(f.Err, false)}
		}
		file := filepath.Join(f.Dir, joinstate.StateFile)
		return []report.Finding{{
			Severity: report.SeverityProblem, Message: f.Err.Error(),
			Remedy: cmp.Or(report.RemedyOf(f.Err), report.Remedy("mv "+file+" "+file+".damaged # then: "+
				"hcp-node-agent join --user-data USER_DATA (the ledger is kept, and leave can still revert its changes)")),
		}}
	}
	var findings []report.Finding
	if f.Busy {
		findings = append(findings, report.Finding{Severity: report.SeverityNote, Message: "another " +
			"hcp-node-agent is changing this host", Remedy: "journalctl -f -u hcp-node-agent"})
	}
	if f.InputsErr != nil {
		findings = append(findings, report.Finding{Severity: report.SeverityWarning, Message: "the inputs of the " +
			"join cannot be read: " + f.InputsErr.Error(), Remedy: cmp.Or(
			report.RemedyOf(f.InputsErr),
			"hcp-node-agent doctor --help",
		)})
	}
	if err := joinstate.CheckMachineID(f.State, f.MachineID, f.Dir); err != nil {
		return append(
			findings,
			report.Finding{Severity: report.SeverityProblem, Message: err.Error(), Remedy: report.RemedyOf(err)},
		)
	}
	return append(findings, f.phaseFinding())
}

func (f joinFacts) phaseFinding() report.Finding {
	state := f.State
	pool := "the workers" // of a standalone cluster
	if state.NodePool != "" {
		pool = "NodePool " + state.NodePool
	}
	unfinished := report.SeverityProblem
	if f.Busy {
		unfinished = report.SeverityNote
	}
	switch state.Phase() {
	case "none":
		return report.Finding{Severity: report.SeverityNote, Message: "this host has not joined a cluster with " +
			"hcp-node-agent", Remedy: "hcp-node-agent join --user-data USER_DATA"}
	case "leaving":
		return report.Finding{
			Severity: unfinished,
			Message:  fmt.Sprintf("a leave of %s started at %s and has not finished", pool, report.Timestamp(state.Leaving)),
			Remedy:   "hcp-node-agent leave # resumes the leave",
		}
	case "joining":
		text := "no step has completed"
		if state.LastStep != "" {
			text = fmt.Sprintf(
				"the last completed step is %q, the next is %q",
				state.LastStep,
				cmp.Or(state.NextStep, state.LastStep),
			)
		}
		return report.Finding{
			Severity: unfinished, Message: fmt.Sprintf(
				"the join of %s, started at %s, has not finished: %s",
				pool,
				report.Timestamp(state.Started),
				text,
			),
			Remedy: "hcp-node-agent join # resumes the join",
		}
	}
	if u := state.Upgrade; u != nil {
		return report.Finding{
			Severity: unfinished,
			Message: fmt.Sprintf(
				"an upgrade of %s started at %s and has not finished: the last completed step is %q",
				state.NodeName,
				report.Timestamp(u.Started),
				cmp.Or(u.Step, "none"),
			),
			Remedy: joinstate.ResumeUpgrade,
		}
	}
	if m := f.Maintenance; m != nil {
		return report.Finding{
			Severity: unfinished,
			Message: fmt.Sprintf(
				"a maintenance of %s started at %s and has not finished: the last completed step is %q",
				state.NodeName,
				report.Timestamp(m.Started),
				cmp.Or(m.Step, "none"),
			),
			Remedy: joinstate.ResumeMaintenance,
		}
	}
	text := fmt.Sprintf(
		"%s joined %s of %s at %s",
		state.NodeName,
		pool,
		state.APIServer,
		report.Timestamp(state.Finished),
	)
	if until := state.Config.Until; until != "" && until != steps.Schedulable {
		text += ", up to --until " + until
	}
	return report.Finding{Severity: report.SeverityOK, Message: text}
}
