// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/provision"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Flow is a join, or the part of an upgrade that it has in common with a join: its inputs, and the results of its
// steps.
type Flow struct {
	Run     *plan.Run
	Host    *machine.Machine // nil before the lock was acquired
	Session *plan.Session    // of the same run and host
	Uplink  *plan.Uplink     // of the same host

	Loaded     payload.Loaded  // of the fetch step: the payload with its source
	Software   *plan.Software  // of the payload
	Plan       *plan.Plan      // of the plan step
	Validation plan.Validation // of the validate step

	durations map[string]config.Duration // of the completed steps of this run

	before         joinstate.State // of the host before this run of join
	kubeletStarted time.Time       // when this run has started kubelet; zero if it has not
	newCertificate bool            // this run has stored a new client certificate
}

// NewFlow returns a flow without results. m is nil if the host was not opened yet.
func NewFlow(run plan.Run, m *machine.Machine) *Flow {
	session := &plan.Session{Run: &run}
	j := &Flow{Run: &run, Session: session, Uplink: plan.NewUplink(session)}
	j.UsePayload(payload.Loaded{})
	if m != nil {
		j.useHost(m)
	}
	return j
}

// useHost makes m the host that the steps read and change.
func (j *Flow) useHost(m *machine.Machine) { j.Host, j.Session.Host = m, m.Reader() }

// Packages returns the packages of the payload on this host.
func (j *Flow) Packages() provision.Packages {
	return provision.Packages{
		Run:      j.Run,
		Host:     j.Host,
		Software: j.Software,
		DNF:      j.Session.DNF(j.Loaded.Payload),
	}
}

// HostImage returns the image of this host, which the present plan updates.
func (j *Flow) HostImage() provision.HostImage {
	return provision.HostImage{
		Run:     j.Run,
		Host:    j.Host,
		Plan:    j.Plan,
		Payload: j.Loaded.Payload,
	}
}

// bootSettings returns the settings of the present plan that take effect at a boot.
func (j *Flow) bootSettings() bootSettings {
	return bootSettings{run: j.Run, host: j.Host, plan: j.Plan}
}

// diagnostics returns the host on which the causes of failures are searched.
func (j *Flow) diagnostics() node.Host { return j.Session.DiagnosticsHost(j.Loaded.Payload) }

// Join makes this host a worker node. It reports whether anything changed.
func Join(ctx context.Context, options inputs.Options) (bool, error) {
	var read bytes.Buffer // standard input can be read only once
	if options.Stdin != nil {
		options.Stdin = io.TeeReader(options.Stdin, &read)
	}
	ctx, cancel := options.Config.WithTimeout(ctx)
	defer cancel()
	j, err := prepareJoin(ctx, options)
	if err != nil {
		return false, err
	}
	m, lock, err := machine.Acquire(ctx, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return false, err
	}
	if lock.Waited {
		options.Stdin = &read
		j, err = prepareJoin(ctx, options)
	}
	changed := false
	if err == nil {
		j.useHost(m)
		changed, err = j.runJoin(ctx, options, Steps())
	}
	m.Close()
	if lock.Stopped || (err == nil && j.Run.Config.Until == config.Defaults().Until) {
		machine.StartService(context.WithoutCancel(ctx), options.Sink)
	}
	return changed, err
}

// runJoin runs steps and emits the first and the final headline. If a new join
// fails before it changes the host, its records are removed, and its remedies repeat
// its inputs. A resumed join always keeps its records.
func (j *Flow) runJoin(ctx context.Context, options inputs.Options, all []Step) (bool, error) {
	keepsRecords := func() bool {
		return options.Resume || len(j.Host.Ledger.Items()) > 0 || j.Run.State.RebootNeeded != ""
	}
	j.Run.Sink = options.RemedySink(keepsRecords)
	if err := j.Host.RequireSystemd(); err != nil && slices.Contains(j.Run.Config.Skip, steps.Preflight) {
		return false, err // otherwise a check of preflight fails
	}
	if err := j.recordStart(); err != nil {
		return false, err
	}
	report.Log{Sink: j.Run.Sink}.Headline(j.headline())
	began := time.Now()
	changed, err := steps.Run(ctx, j.runner(), all, j)
	if err == nil {
		err = errors.Join(j.Packages().RemoveUnused(ctx), provision.FinishImage(j.Run.Dir))
	}
	if err == nil {
		return changed, j.finish(changed, time.Since(began))
	}
	if !keepsRecords() {
		// The host is unchanged, so nothing has to be resumed at the next boot, and secrets
		// must not remain. The service still retries with the files it was given.
		j.removeRecords()
		err = options.CompleteError(err)
	}
	return changed, err
}

// removeRecords removes the agent's records of a run that has not changed the host. The
// run reports why it failed, so an error is only logged.
func (j *Flow) removeRecords() {
	if err := j.Host.RemoveRecords(j.Run.Dir); err != nil {
		report.Log{Sink: j.Run.Sink, Step: "end"}.Warn("records of this run, which contain secrets, could not be "+
			"removed: "+err.Error(), report.Remedy("# delete the files in "+j.Run.Dir))
	}
}

// prepareJoin reads the inputs of a run. It changes nothing.
func prepareJoin(ctx context.Context, options inputs.Options) (*Flow, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	// Only an administrator who names a cluster can turn an unfinished leave into a
	// join.
	if c := options.Config; options.Service || options.Resume || (c.JoinToken == "" && !inputs.StartsOver(c, state)) {
		if err := state.CheckNotLeaving(); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(state.CheckNotUpgrading(), joinstate.CheckNoMaintenance(options.StateDir),
		joinstate.CheckSoftware(options.StateDir)); err != nil {
		return nil, err
	}
	j := NewFlow(plan.Run{
		Config:   options.Config,
		Attended: options.Attended,
		Dir:      options.StateDir,
		Sink:     options.Sink,
		State:    state,
	}, nil)
	if options.Resume {
		if !state.Exists() {
			return nil, inputs.UsageError("no join is in progress that could be resumed")
		}
		j.Run.Config = state.Config
		j.Run.Config.Timeout = options.Config.Timeout
	}
	j.Run.Config = inputs.MergeSaved(j.Run.Config, state)
	if j.Run.Inputs, err = inputs.Read(ctx, options, state); err != nil {
		return nil, err
	}
	j.Run.Config = inputs.MergeJoinToken(j.Run.Config, j.Run.Inputs.JoinToken)
	return j, j.Run.CheckNodePool()
}

// recordStart saves the state and the inputs of the join, so that the unit can
// resume the join after a reboot.
func (j *Flow) recordStart() error {
	if err := joinstate.CheckMachineID(j.Run.State, j.Host.Facts.MachineID, j.Run.Dir); err != nil {
		return err
	}
	state := &j.Run.State
	j.before = *state
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
	state.Config = j.Run.Config
	state.MachineID = j.Host.Facts.MachineID
	state.SetSource(j.Run.Inputs.UserData)
	if err := errors.Join(joinstate.SaveOverrides(j.Run.Dir, j.Run.Inputs.Overrides),
		inputs.SaveJoinToken(j.Run.Dir, j.Run.Inputs.JoinToken)); err != nil {
		return err
	}
	if userData := j.Run.Inputs.UserData; userData != nil {
		content, err := userData.Encode()
		if err != nil {
			return err
		}
		if err := joinstate.SaveFile(j.Run.Dir, joinstate.UserDataFile, content); err != nil {
			return err
		}
	}
	return joinstate.Write(j.Run.Dir, j.Run.State)
}

// runner returns the runner of the steps. It records each completed step.
func (j *Flow) runner() steps.Runner {
	j.durations = map[string]config.Duration{}
	return steps.Runner{
		Sink: j.Run.Sink, Ledger: j.Host.Ledger, Skip: j.Run.Config.Skip, Until: j.Run.Config.Until,
		Completed: func(name, next string, elapsed time.Duration) error {
			j.durations[name] = config.Duration(elapsed.Round(time.Millisecond))
			j.Run.State.Complete(name, next)
			return joinstate.Write(j.Run.Dir, j.Run.State)
		},
	}
}

// finish removes the user data's token and the join token, which the node no longer
// needs, and then records the end of the join. A power failure in between leaves an
// unfinished join. It resumes without the tokens, because its payload is saved. elapsed
// is the duration of this run.
func (j *Flow) finish(changed bool, elapsed time.Duration) error {
	secrets := []string{joinstate.JoinTokenFile}
	// User data of a standalone cluster contains no token. It is kept because it leads
	// to the current configuration of the pool.
	if userData := j.Run.Inputs.UserData; j.Run.State.Hosted || (userData != nil && userData.HasToken()) {
		secrets = append(secrets, joinstate.UserDataFile)
	}
	if err := joinstate.RemoveFiles(j.Run.Dir, secrets...); err != nil {
		return err
	}
	if j.Run.State.Finished.IsZero() {
		j.Run.State.Finished = time.Now().UTC()
	}
	j.Run.State.Runs++
	j.Run.State.StepDurations = j.durations
	if err := joinstate.Write(j.Run.Dir, j.Run.State); err != nil {
		return err
	}
	text := fmt.Sprintf("%s is %s (%s)",
		j.Run.State.NodeName, stateReached(j.Run.Config.Until), elapsed.Round(time.Second))
	if !changed {
		text += "; the host was already in the desired state, nothing was changed"
	}
	report.Log{Sink: j.Run.Sink}.Headline(text)
	return nil
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

func (j *Flow) headline() string {
	text := "joining this host"
	if j.Host.Facts.Hostname != "" {
		text = "joining " + j.Host.Facts.Hostname
	}
	if j.Run.State.NodePool != "" {
		text += " to NodePool " + j.Run.State.NodePool
	}
	if j.Run.State.Endpoint != "" {
		text += " through " + j.Run.State.Endpoint
	}
	return text
}
