// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
func Join(ctx context.Context, options request.Options) (changed bool, err error) {
	err = joinHost(ctx, options, func(ctx context.Context, j *Flow) error {
		changed, err = j.runJoin(ctx, options, Steps())
		return err
	})
	return changed, err
}

// joinHost calls run with the request and the opened host, and starts the service after a complete join.
func joinHost(ctx context.Context, options request.Options, run func(context.Context, *Flow) error) error {
	ctx, cancel := options.Config.WithTimeout(ctx)
	defer cancel()
	prepared, err := prepareJoin(ctx, options)
	if err != nil {
		return err
	}
	m, lock, err := machine.Acquire(ctx, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return err
	}
	if lock.Waited { // for a run that may have changed the records
		options.Stdin = bytes.NewReader(prepared.Stdin)
		prepared, err = prepareJoin(ctx, options)
	}
	if err == nil {
		err = run(ctx, NewFlow(prepared, m))
	}
	m.Close()
	if lock.Stopped || (err == nil && prepared.Config.Until == config.Defaults().Until) {
		machine.StartService(context.WithoutCancel(ctx), options.Sink)
	}
	return err
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

// prepareJoin reads the request of a join. It changes nothing.
func prepareJoin(ctx context.Context, options request.Options) (run plan.Run, err error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return run, err
	}
	if !options.Adopt {
		if err := joinstate.CheckNotAdopting(options.StateDir, state); err != nil {
			return run, err
		}
	}
	if !options.NamesCluster(state) { // else the join replaces an unfinished leave
		if err := state.CheckNotLeaving(); err != nil {
			return run, err
		}
	}
	if err := cmp.Or(state.CheckNotUpgrading(), joinstate.CheckNoMaintenance(options.StateDir),
		joinstate.CheckSoftware(options.StateDir)); err != nil {
		return run, err
	}
	requested, err := request.Read(ctx, options, state, request.UserDataOfNodePool)
	return plan.Run{
		Request:  requested,
		Attended: options.Attended,
		Dir:      options.StateDir,
		Sink:     options.Sink,
		State:    state,
	}, err
}
