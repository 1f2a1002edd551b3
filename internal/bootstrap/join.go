// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/provision"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Join makes this host a worker node. It reports whether anything changed.
func Join(ctx context.Context, options request.Options) (bool, error) {
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
func (j *Flow) runJoin(ctx context.Context, options request.Options, all []Step) (bool, error) {
	keepsRecords := func() bool {
		return options.Resume || len(j.Host.Ledger.Items()) > 0 || j.Run.State.RebootNeeded != ""
	}
	j.Run.Sink = options.RemedySink(keepsRecords)
	if err := j.Host.RequireSystemd(); err != nil && slices.Contains(j.Run.Config.Skip, steps.Preflight) {
		return false, err // otherwise a check of preflight fails
	}
	j.before = j.Run.State
	record := newJoinRecord(j.Run, j.Host)
	if err := record.start(); err != nil {
		return false, err
	}
	report.Log{Sink: j.Run.Sink}.Headline(record.headline())
	began := time.Now()
	changed, err := steps.Run(ctx, record.runner(), all, j)
	if err == nil {
		err = errors.Join(j.Packages().RemoveUnused(ctx), provision.FinishImage(j.Run.Dir))
	}
	if err == nil {
		return changed, record.finish(changed, time.Since(began))
	}
	if !keepsRecords() {
		// The host is unchanged, so nothing has to be resumed at the next boot, and secrets
		// must not remain. The service still retries with the files it was given.
		record.remove()
		err = options.CompleteError(err)
	}
	return changed, err
}

// prepareJoin reads the inputs of a run. It changes nothing.
func prepareJoin(ctx context.Context, options request.Options) (*Flow, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	// Only an administrator who names a cluster can turn an unfinished leave into a
	// join.
	if c := options.Config; options.Service || options.Resume || (c.JoinToken == "" && !request.StartsOver(c, state)) {
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
			return nil, request.UsageError("no join is in progress that could be resumed")
		}
		j.Run.Config = state.Config
		j.Run.Config.Timeout = options.Config.Timeout
	}
	j.Run.Config = request.MergeSaved(j.Run.Config, state)
	if j.Run.Inputs, err = request.Read(ctx, options, state); err != nil {
		return nil, err
	}
	j.Run.Config = request.MergeJoinToken(j.Run.Config, j.Run.Inputs.JoinToken)
	return j, j.Run.CheckNodePool()
}
