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
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
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
}

func inspectJoin(_ context.Context, d *diagnostics) ([]report.Finding, error) {
	return joinFacts{
		State: d.State, Err: d.stateErr, InputsErr: d.inputErr, Root: d.Facts.Root, Busy: d.busy, MachineID: d.Facts.MachineID, Dir: d.Dir,
	}.evaluate(), nil
}

func (f joinFacts) evaluate() []report.Finding {
	if f.Err != nil {
		if !f.Root && errors.Is(f.Err, fs.ErrPermission) {
			return []report.Finding{notInspected(f.Err, false)}
		}
		file := filepath.Join(f.Dir, joinstate.StateFile)
		return []report.Finding{{
			Severity: report.SeverityProblem, Message: f.Err.Error(),
			Remedy: report.Remedy("mv " + file + " " + file + ".damaged # then: hcp-node-agent join --user-data stub.ign (what the ledger holds stays, and leave gives it back)"),
		}}
	}
	var findings []report.Finding
	if f.Busy {
		findings = append(findings, report.Finding{Severity: report.SeverityNote, Message: "another hcp-node-agent changes this host at the moment", Remedy: "journalctl -f -u hcp-node-agent"})
	}
	if f.InputsErr != nil {
		findings = append(findings, report.Finding{Severity: report.SeverityWarning, Message: "what the join was begun with cannot be read: " + f.InputsErr.Error(), Remedy: report.RemedyOf(f.InputsErr)})
	}
	if err := joinstate.CheckMachineID(f.State, f.MachineID, f.Dir); err != nil {
		return append(findings, report.Finding{Severity: report.SeverityProblem, Message: err.Error(), Remedy: report.RemedyOf(err)})
	}
	return append(findings, f.phaseFinding())
}

func (f joinFacts) phaseFinding() report.Finding {
	state := f.State
	pool := ""
	if state.NodePool != "" {
		pool = " NodePool " + state.NodePool
	}
	unfinished := report.SeverityProblem
	if f.Busy {
		unfinished = report.SeverityNote
	}
	switch state.Phase() {
	case "none":
		return report.Finding{Severity: report.SeverityNote, Message: "this host has not joined a cluster with hcp-node-agent", Remedy: "hcp-node-agent join --user-data stub.ign"}
	case "leaving":
		return report.Finding{
			Severity: unfinished,
			Message:  fmt.Sprintf("a leave of%s began at %s and has not finished", pool, state.Leaving.Local().Format(time.DateTime)),
			Remedy:   "hcp-node-agent leave # resumes it",
		}
	case "joining":
		text := "no step of it has ended"
		if state.LastStep != "" {
			text = fmt.Sprintf("its last step that ended is %q, the next is %q", state.LastStep, cmp.Or(state.NextStep, state.LastStep))
		}
		return report.Finding{
			Severity: unfinished, Message: fmt.Sprintf("the join of%s, begun on %s, has not ended: %s", pool, state.Started.Local().Format(time.DateTime), text),
			Remedy: "hcp-node-agent join # goes on where it ended",
		}
	}
	text := fmt.Sprintf("%s joined%s of %s on %s", state.NodeName, pool, state.APIServer, state.Finished.Local().Format(time.DateTime))
	if until := state.Config.Until; until != "" && until != stepname.Schedulable {
		text += ", as far as --until " + until
	}
	return report.Finding{Severity: report.SeverityOK, Message: text}
}
