// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// joinRecord writes what is recorded about a join: its state, its inputs and its progress.
type joinRecord struct {
	run       *plan.Run
	host      *machine.Machine
	durations map[string]config.Duration // of the completed steps of this run
}

func newJoinRecord(run *plan.Run, host *machine.Machine) joinRecord {
	return joinRecord{run: run, host: host, durations: map[string]config.Duration{}}
}

// start saves the state and the inputs of the join, so that the unit can
// resume the join after a reboot.
func (r joinRecord) start() error {
	if err := r.prepare(); err != nil {
		return err
	}
	return joinstate.Write(r.run.Dir, r.run.State)
}

// prepare sets the state at the start of the join, without saving it, and saves the inputs.
func (r joinRecord) prepare() error {
	if err := joinstate.CheckMachineID(r.run.State, r.host.Facts.MachineID, r.run.Dir); err != nil {
		return err
	}
	state := &r.run.State
	if !state.Exists() {
		state.Started = time.Now().UTC()
	}
	if !state.Leaving.IsZero() {
		// The leave may have undone any part of the join, and the saved payload no longer
		// contains the bootstrap credential.
		state.Leaving, state.Finished = time.Time{}, time.Time{}
		state.LastStep, state.NextStep, state.Completed = "", "", nil
		state.RebootNeeded, state.Registered = "", false
		state.PayloadDigest, state.PayloadConfigHash, state.PayloadSourceDigest = "", "", ""
	}
	state.Config = r.run.Config
	state.MachineID = r.host.Facts.MachineID
	state.SetSource(r.run.UserData)
	if err := errors.Join(joinstate.SaveOverrides(r.run.Dir, r.run.Overrides),
		request.SaveJoinToken(r.run.Dir, r.run.JoinToken)); err != nil {
		return err
	}
	if userData := r.run.UserData; userData != nil {
		content, err := userData.Encode()
		if err != nil {
			return err
		}
		return joinstate.SaveFile(r.run.Dir, joinstate.UserDataFile, content)
	}
	return nil
}

// runner returns the runner of the steps. It records each completed step.
func (r joinRecord) runner() steps.Runner {
	return steps.Runner{
		Sink: r.run.Sink, Ledger: r.host.Ledger, Skip: r.run.Config.Skip, Until: r.run.Config.Until,
		Completed: func(name, next string, elapsed time.Duration) error {
			r.durations[name] = config.Duration(elapsed.Round(time.Millisecond))
			r.run.State.Complete(name, next)
			return joinstate.Write(r.run.Dir, r.run.State)
		},
	}
}

// finish records the end of the join and prints it. elapsed is the duration of this run.
func (r joinRecord) finish(changed bool, elapsed time.Duration) error {
	if err := r.complete(); err != nil {
		return err
	}
	text := fmt.Sprintf("%s is %s (%s)",
		r.run.State.NodeName, stateReached(r.run.Config.Until), elapsed.Round(time.Second))
	if !changed {
		text += "; the host was already in the desired state, nothing was changed"
	}
	report.Log{Sink: r.run.Sink}.Headline(text)
	return nil
}

// complete removes the user data's token and the join token, which the node no longer
// needs, and then records the end of the join. A power failure in between leaves an
// unfinished join. It resumes without the tokens, because its payload is saved.
func (r joinRecord) complete() error {
	secrets := []string{joinstate.JoinTokenFile}
	// User data of a standalone cluster contains no token. It is kept because it leads
	// to the current configuration of the pool.
	if userData := r.run.UserData; r.run.State.Hosted || (userData != nil && userData.HasToken()) {
		secrets = append(secrets, joinstate.UserDataFile)
	}
	if err := joinstate.RemoveFiles(r.run.Dir, secrets...); err != nil {
		return err
	}
	if r.run.State.Finished.IsZero() {
		r.run.State.Finished = time.Now().UTC()
	}
	r.run.State.Runs++
	r.run.State.StepDurations = r.durations
	return joinstate.Write(r.run.Dir, r.run.State)
}

func stateReached(until string) string {
	switch until {
	case steps.ClientCertificate:
		return "registered with the cluster"
	case steps.Kubelet:
		return "running kubelet"
	case steps.Ready:
		return "Ready"
	}
	return "Ready and schedulable"
}

// remove removes the agent's records of a run that has not changed the host. The
// run reports why it failed, so an error is only logged.
func (r joinRecord) remove() {
	if err := r.host.RemoveRecords(r.run.Dir); err != nil {
		report.Log{Sink: r.run.Sink, Step: "end"}.Warn("records of this run, which contain secrets, could not be "+
			"removed: "+err.Error(), report.Remedy("# delete the files in "+r.run.Dir))
	}
}

// headline returns the first line of the output of a join.
func (r joinRecord) headline() string {
	text := "joining this host"
	if r.host.Facts.Hostname != "" {
		text = "joining " + r.host.Facts.Hostname
	}
	if r.run.State.NodePool != "" {
		text += " to NodePool " + r.run.State.NodePool
	}
	if r.run.State.Endpoint != "" {
		text += " through " + r.run.State.Endpoint
	}
	return text
}
