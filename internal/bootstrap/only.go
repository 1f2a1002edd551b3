// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// RunOnly runs only the steps of options.Only, for example to attach the uplink to br-ex
// before a join. The host does not have to be joined. RunOnly starts no join and
// does not change the recorded progress; leave undoes the changes. It reports
// whether anything changed.
func RunOnly(ctx context.Context, options request.Options) (bool, error) {
	if options.Resume {
		return false, report.UsageError("--only and --resume cannot be given together")
	}
	for _, name := range options.Only {
		if allowed := steps.IndependentSteps(); !slices.Contains(allowed, name) {
			return false, report.UsageError("--only: invalid value %q: must be one of %s", name, strings.Join(allowed, ", "))
		}
	}
	selected := selectSteps(func(s steps.JoinStep) bool { return slices.Contains(options.Only, s.Name) })
	ctx, cancel := options.Config.WithTimeout(ctx)
	defer cancel()
	m, lock, err := machine.Acquire(ctx, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return false, err
	}
	j := NewFlow(plan.Run{Dir: options.StateDir, Sink: options.Sink}, m)
	changed := false
	if err = m.RequireSystemd(); err == nil {
		changed, err = j.runOnly(ctx, options, selected)
	}
	m.Close()
	if lock.Stopped {
		machine.StartService(context.WithoutCancel(ctx), j.Run.Sink)
	}
	return changed, err
}

func (j *Flow) runOnly(ctx context.Context, options request.Options, selected []Step) (bool, error) {
	var err error
	if j.Run.State, err = joinstate.Read(j.Run.Dir); err != nil {
		return false, err
	}
	if err := joinstate.CheckNotAdopting(j.Run.Dir, j.Run.State); err != nil {
		return false, err
	}
	if j.Run.Request, err = request.Read(ctx, options, j.Run.State, request.SettingsOnly); err != nil {
		return false, err
	}
	hasRecords := func() bool { return len(j.Host.Ledger.Items()) > 0 || j.Run.State.Exists() }
	j.Run.Sink = options.RemedySink(hasRecords)
	changed, err := steps.Run(ctx, steps.Runner{Sink: j.Run.Sink, Ledger: j.Host.Ledger}, selected, j)
	if err != nil && !hasRecords() {
		newJoinRecord(j.Run, j.Host).remove()
		err = options.CompleteError(err)
	}
	return changed, err
}
