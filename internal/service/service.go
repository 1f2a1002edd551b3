// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

// Options configures the service.
type Options struct {
	inputs.Options
	Version string // of the agent, for the metrics
	Metrics string // output file for node_exporter's textfile collector; "" for none
	// AutoJoin locates the files that start a join if none has been recorded.
	AutoJoin autojoin.Files
}

// Run runs the service. It resumes an unfinished join, or starts one with the files
// of AutoJoin. Then it monitors the node until ctx ends or the host has left the
// cluster. After the join it changes the host only if repairs are enabled.
func Run(ctx context.Context, options Options) error {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return err
	}
	if err := state.CheckNotLeaving(); err != nil {
		return err
	}
	if state.Finished.IsZero() {
		if err := joinWithRetry(ctx, options); err != nil {
			return err
		}
		if state, err = joinstate.Read(options.StateDir); err != nil {
			return err
		}
	}
	if state.Upgrade != nil {
		if state, err = resumeUpgrade(ctx, options); err != nil {
			return err
		}
	}
	if err := resumeMaintenance(ctx, options); err != nil {
		return err
	}
	options.AutoJoin.RemoveAfterJoin(state, report.Log{Sink: options.Sink, Step: "monitor"})
	m := &nodeMonitor{
		Options:    options,
		state:      state,
		kubeconfig: identity.KubeconfigPath,
		pkiDir:     identity.PKIDirectory,
		log:        report.Log{Sink: options.Sink, Step: "monitor"},
		wake:       make(chan string, 4),
	}
	if err := m.open(ctx); err != nil {
		return err
	}
	defer m.close()
	if m.repairs, err = loadRepairs(options.StateDir); err != nil {
		m.log.Warn(err.Error(), report.RemedyOf(err))
	}
	// Report readiness even if the node is not Ready, which can take a day. Until then
	// the unit is activating, and an administrator's join would stop the service.
	report.SystemdNotifier{}.Ready(checkingStatus(state.NodeName))
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go m.watchNetwork(watching)
	err = (&Monitor{
		Wake:           m.wake,
		Checks:         m.checks(),
		Timeout:        2 * time.Minute,
		ConfirmAfter:   20 * time.Second,
		RecheckAfter:   2 * time.Minute,
		FailureFinding: failedCheckFinding,
		OnChange:       m.publishChanges,
		OnTick:         m.reportAndRepair,
		Done:           m.hasEnded,
		Suspended:      m.isSuspended,
	}).Run(ctx)
	m.removeMetricsAfterLeave()
	return err
}

// joinWithRetry joins the host to the cluster, however long that takes.
func joinWithRetry(ctx context.Context, options Options) error {
	return retrier{
		sink: options.Sink, try: options.tryJoin, fingerprint: options.AutoJoin.Fingerprint, wait: wait.Sleep, setStatus: report.SystemdNotifier{}.Status,
	}.run(ctx)
}

// resumeUpgrade completes an interrupted upgrade, or rolls it back, however long that takes. It fails
// if neither succeeds and another attempt could not either.
func resumeUpgrade(ctx context.Context, options Options) (joinstate.State, error) {
	err := retrier{
		sink: options.Sink, try: options.tryUpgrade, fingerprint: func() string { return "" }, wait: wait.Sleep, setStatus: report.SystemdNotifier{}.Status,
	}.run(ctx)
	if err != nil {
		return joinstate.State{}, err
	}
	return joinstate.Read(options.StateDir)
}

// tryUpgrade attempts once to complete an interrupted upgrade. An administrator may have completed it
// since the last attempt. An upgrade that was rolled back is only logged.
func (o Options) tryUpgrade(ctx context.Context, sink report.Sink) error {
	state, err := joinstate.Read(o.StateDir)
	if err != nil || state.Upgrade == nil {
		return err
	}
	resume := o.Options
	resume.Sink, resume.Service = sink, true
	resume.Config = config.Join{Timeout: o.Config.Timeout} // no new input
	_, failure := upgrade.Upgrade(ctx, upgrade.Options{Options: resume})
	if state, err = joinstate.Read(o.StateDir); err != nil || (failure != nil && state.Upgrade != nil) {
		return errors.Join(failure, err)
	}
	if failure != nil {
		report.Log{Sink: sink, Step: "upgrade"}.Warn(failure.Error(), report.RemedyOf(failure))
	}
	return nil
}

// tryJoin attempts the join once. An administrator may have joined the host since
// the last attempt.
func (o Options) tryJoin(ctx context.Context, sink report.Sink) error {
	state, err := joinstate.Read(o.StateDir)
	if err != nil || !state.Finished.IsZero() {
		return err
	}
	if err := state.CheckNotLeaving(); err != nil {
		return err
	}
	next, err := o.AutoJoin.NextOptions(o.Options, state)
	if err != nil {
		return err
	}
	next.Sink, next.Service = sink, true
	_, err = bootstrap.Join(ctx, next)
	return err
}

// failedCheckFinding returns a finding about a check that could not be run.
func failedCheckFinding(err error) report.Finding {
	return report.Finding{
		Severity: report.SeverityWarning,
		Reason:   report.CheckFailed,
		Subject:  "failed checks",
		Message:  err.Error(),
		Remedy:   report.RemedyOf(err),
	}
}

// hasEnded reads the state and reports whether the host has left the cluster. After another run of
// the agent, it lets all checks run at once, with the current kubeconfig of kubelet. It fails if an
// upgrade was interrupted; the next start of the service resumes it.
func (m *nodeMonitor) hasEnded() (bool, error) {
	state, err := joinstate.Read(m.StateDir)
	if err != nil {
		return false, err
	}
	if !state.Exists() {
		m.log.Note("this host has left the cluster; the service stops monitoring")
		return true, nil
	}
	before, wasSuspended := m.state, m.isSuspended()
	m.state = state
	if m.maintenance, err = joinstate.ReadMaintenance(m.StateDir); err != nil {
		return false, err
	}
	if m.isSuspended() {
		return m.wasInterrupted()
	}
	if state.NodeName != before.NodeName || m.kubeconfigChanged() {
		if err := m.openNode(m.node.BootID); err != nil {
			return false, err
		}
	} else if !wasSuspended && maps.Equal(before.StepDurations, state.StepDurations) {
		return false, nil
	}
	m.log.Note("the agent has changed this host; repeating all checks")
	m.requestCheck("")
	return false, nil
}

// kubeconfigChanged reports whether another run of the agent has changed kubelet's kubeconfig: it has a
// new CA or URL of the API server, or is that of another cluster.
func (m *nodeMonitor) kubeconfigChanged() bool {
	now, err := os.ReadFile(m.kubeconfig)
	return err == nil && !bytes.Equal(now, m.kubeconfigContent) // if it does not exist, a leave is in progress
}
