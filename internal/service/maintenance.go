// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/maintenance"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// resumeMaintenance completes an interrupted maintenance. It fails if the maintenance is still unfinished.
func resumeMaintenance(ctx context.Context, options Options) error {
	unfinished, err := joinstate.ReadMaintenance(options.StateDir)
	if err != nil || unfinished == nil {
		return err
	}
	resume := options.Options
	resume.Service = true
	_, failure := maintenance.Run(ctx, maintenance.Options{Options: resume})
	unfinished, err = joinstate.ReadMaintenance(options.StateDir)
	if err != nil || (failure != nil && unfinished != nil) {
		return errors.Join(failure, err)
	}
	if failure != nil { // the node is uncordoned, and nothing has changed
		report.Log{Sink: options.Sink, Step: "maintenance"}.Warn(failure.Error(), report.RemedyOf(failure))
	}
	return nil
}

// unfinishedRun returns the kind of the run that is in progress or was interrupted, with an article; "" if
// there is none.
func (m *nodeMonitor) unfinishedRun() string {
	switch {
	case m.state.Upgrade != nil:
		return "an upgrade"
	case m.maintenance != nil:
		return "a maintenance"
	}
	return ""
}

// isSuspended reports whether an upgrade or a maintenance is unfinished, during which the node is not
// checked.
func (m *nodeMonitor) isSuspended() bool { return m.unfinishedRun() != "" }

// wasInterrupted reports, with an error, whether no process runs the unfinished upgrade or maintenance any
// more.
func (m *nodeMonitor) wasInterrupted() (bool, error) {
	locked, err := ledger.IsLocked(m.StateDir)
	if err != nil || locked {
		return false, err
	}
	state, err := joinstate.Read(m.StateDir)
	if err != nil {
		return false, err
	}
	unfinished, err := joinstate.ReadMaintenance(m.StateDir)
	if err != nil || (state.Upgrade == nil && unfinished == nil) {
		return false, err // it has just finished
	}
	m.log.Note(m.unfinishedRun() + " of this host was interrupted; restarting the service to resume it")
	return true, report.Fail(report.Failed, "", "%s was interrupted", m.unfinishedRun())
}
