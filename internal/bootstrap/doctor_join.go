package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// joinFacts contains the facts about the join itself.
type joinFacts struct {
	State   State
	Err     error // why the state is unknown
	Inputs  error // why the inputs of the join are unknown
	Root    bool
	Busy    bool   // another run of the agent is changing this host
	Machine string // machine-id
	Dir     string
}

func examineJoin(_ context.Context, p *patient) ([]DoctorFinding, error) {
	return joinFacts{
		State: p.state, Err: p.stateErr, Inputs: p.inputErr, Root: p.facts.Root, Busy: p.busy, Machine: p.facts.MachineID, Dir: p.dir,
	}.judge(), nil
}

func (f joinFacts) judge() []DoctorFinding {
	if f.Err != nil {
		if !f.Root && errors.Is(f.Err, fs.ErrPermission) {
			return []DoctorFinding{unseen(f.Err, false)}
		}
		file := filepath.Join(f.Dir, stateFile)
		return []DoctorFinding{{
			Severity: report.SeverityProblem, Text: f.Err.Error(),
			Remedy: report.Remedy("mv " + file + " " + file + ".damaged # then: hcp-node-agent join --user-data stub.ign (what the ledger holds stays, and leave gives it back)"),
		}}
	}
	var findings []DoctorFinding
	if f.Busy {
		findings = append(findings, DoctorFinding{Severity: report.SeverityNote, Text: "another hcp-node-agent changes this host at the moment", Remedy: "journalctl -f -u hcp-node-agent"})
	}
	if f.Inputs != nil {
		findings = append(findings, DoctorFinding{Severity: report.SeverityWarning, Text: "what the join was begun with cannot be read: " + f.Inputs.Error(), Remedy: report.Remedy(report.RemedyOf(f.Inputs))})
	}
	if err := cloned(f.State, f.Machine, f.Dir); err != nil {
		return append(findings, DoctorFinding{Severity: report.SeverityProblem, Text: err.Error(), Remedy: report.Remedy(report.RemedyOf(err))})
	}
	return append(findings, f.phase())
}

func (f joinFacts) phase() DoctorFinding {
	state := f.State
	pool := ""
	if state.NodePool != "" {
		pool = " NodePool " + state.NodePool
	}
	unfinished := report.SeverityProblem
	if f.Busy {
		unfinished = report.SeverityNote
	}
	switch state.phase() {
	case "none":
		return DoctorFinding{Severity: report.SeverityNote, Text: "this host has not joined a cluster with hcp-node-agent", Remedy: "hcp-node-agent join --user-data stub.ign"}
	case "leaving":
		return DoctorFinding{
			Severity: unfinished,
			Text:     fmt.Sprintf("a leave of%s began at %s and has not finished", pool, state.Leaving.Local().Format(time.DateTime)),
			Remedy:   "hcp-node-agent leave # resumes it",
		}
	case "joining":
		text := "no step of it has ended"
		if state.LastStep != "" {
			text = fmt.Sprintf("its last step that ended is %q, the next is %q", state.LastStep, state.next())
		}
		return DoctorFinding{
			Severity: unfinished, Text: fmt.Sprintf("the join of%s, begun on %s, has not ended: %s", pool, state.Started.Local().Format(time.DateTime), text),
			Remedy: "hcp-node-agent join # goes on where it ended",
		}
	}
	text := fmt.Sprintf("%s joined%s of %s on %s", state.NodeName, pool, state.APIServer, state.Finished.Local().Format(time.DateTime))
	if until := state.Config.Until; until != "" && until != "schedulable" {
		text += ", as far as --until " + until
	}
	return DoctorFinding{Severity: report.SeverityOK, Text: text}
}

// cloned fails if the state was written on another machine.
func cloned(state State, machine, dir string) error {
	if state.MachineID == "" || state.MachineID == machine {
		return nil
	}
	return report.Fail(report.Refused, "rm -rf "+dir+" # when this machine was cloned from a node; then join again",
		"the state in %s was written by another machine (machine-id %s)", dir, state.MachineID)
}
