// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/maintenance"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

// Options configures the service.
type Options struct {
	request.Options
	Version string // of the agent, for the metrics
	Metrics string // output file for node_exporter's textfile collector; "" for none
	// AutoJoin locates the files that start a join if none has been recorded.
	AutoJoin autojoin.Files
	// IntervalDivisor divides the intervals of the checks if it is greater than 1, so that tests need not wait for them.
	IntervalDivisor int
}

// interval returns an interval of the checks, divided by IntervalDivisor.
func (o Options) interval(undivided time.Duration) time.Duration {
	return undivided / time.Duration(max(1, o.IntervalDivisor))
}

// Run runs the service. It resumes an unfinished join, or starts one with the files
// of AutoJoin. Then it monitors the node until ctx ends or the host has left the
// cluster. After the join it changes the host only if repairs are enabled.
func Run(ctx context.Context, options Options) error {
	options.Sink = &sharedSink{sink: options.Sink} // an upgrade runs in the background
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return err
	}
	if err := state.CheckNotLeaving(); err != nil {
		return err
	}
	if err := options.retry(ctx, options.tryJoin, options.AutoJoin.Fingerprint); err != nil {
		return err
	}
	if err := options.retry(ctx, options.tryResume, func() string { return "" }); err != nil {
		return err
	}
	if state, err = joinstate.Read(options.StateDir); err != nil {
		return err
	}
	m := &nodeMonitor{
		Options:    options,
		state:      state,
		kubeconfig: identity.KubeconfigPath,
		pkiDir:     identity.PKIDirectory,
		log:        report.Log{Sink: options.Sink, Step: "monitor"},
		wake:       make(chan string, 4),
	}
	options.AutoJoin.RemoveAfterJoin(state, m.log)
	if err := closeAttempt(options.StateDir, state); err != nil {
		m.log.Warn(err.Error(), report.RemedyOf(err))
	}
	defer m.close()
	if err := m.open(ctx); err != nil {
		return err
	}
	if m.repairs, err = loadRepairs(options.StateDir); err != nil {
		m.log.Warn(err.Error(), report.RemedyOf(err))
	}
	// Report readiness even if the node is not Ready, which can take a day. Until then
	// the unit is activating, and an administrator's join would stop the service.
	report.SystemdNotifier{}.Ready(checkingStatus(state.NodeName))
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go m.watchNetwork(watching)
	inRollout := options.Options
	inRollout.Sink = report.Sinks{options.Sink, &m.rollout.progress}
	m.rollout.upgrade = func(ctx context.Context, userData []byte, o upgrade.Options) error {
		return upgradeTo(ctx, inRollout, userData, o)
	}
	m.rollout.begin = func(run func(context.Context)) { go run(watching) }
	err = m.monitor().Run(ctx)
	stop()
	m.rollout.wait()
	removeMetricsAfterLeave(options.StateDir, options.Metrics, m.log)
	return err
}

// monitor returns the monitor with the checks of the node.
func (m *nodeMonitor) monitor() *Monitor {
	return &Monitor{
		Wake:         m.wake,
		Checks:       m.checks(),
		Timeout:      2 * time.Minute,
		ConfirmAfter: m.interval(20 * time.Second),
		RecheckAfter: m.interval(2 * time.Minute),
		OnChange:     m.publishChanges,
		OnTick:       m.reportAndRepair,
		Done:         m.hasEnded,
		Suspended:    m.isSuspended,
		Disconnected: func() bool { return m.isDisconnected },
	}
}

// retry runs try until it succeeds, however long that takes. It fails if another attempt could not succeed
// either.
func (o Options) retry(
	ctx context.Context, try func(context.Context, report.Sink) error, fingerprint func() string,
) error {
	return retrier{
		sink: o.Sink, try: try, fingerprint: fingerprint,
		wait: wait.Sleep, setStatus: report.SystemdNotifier{}.Status,
	}.run(ctx)
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

// tryResume attempts once to complete an interrupted upgrade or maintenance. An administrator may have
// completed it since the last attempt. If the attempt fails, but has ended the run, for example by a rollback,
// the failure is only logged.
func (o Options) tryResume(ctx context.Context, sink report.Sink) error {
	run, err := unfinishedRun(o.StateDir)
	if err != nil || run == "" {
		return err
	}
	resume := o.Options
	resume.Sink, resume.Service = sink, true
	var failure error
	if run == upgradeRun {
		resume.Config = config.Join{Timeout: o.Config.Timeout} // no new input
		_, failure = upgrade.Upgrade(ctx, upgrade.Options{Options: resume})
	} else {
		_, failure = maintenance.Run(ctx, maintenance.Options{Options: resume})
	}
	left, err := unfinishedRun(o.StateDir)
	if err != nil || failure != nil && left != "" {
		return errors.Join(failure, err)
	}
	if err := endAttempt(ctx, o.StateDir, failure); err != nil {
		return err
	}
	if failure != nil {
		report.Log{Sink: sink, Step: "resume"}.Warn(failure.Error(), report.RemedyOf(failure))
	}
	return nil
}

// The runs after a join that the service resumes if they are interrupted, as the begin of a sentence.
const (
	upgradeRun     = "an upgrade"
	maintenanceRun = "a maintenance"
)

// unfinishedRun returns the run that is in progress or was interrupted, "" if there is none.
func unfinishedRun(stateDir string) (string, error) {
	state, err := joinstate.Read(stateDir)
	if err != nil {
		return "", err
	}
	if state.Upgrade != nil {
		return upgradeRun, nil
	}
	record, err := joinstate.ReadMaintenance(stateDir)
	if err != nil || record == nil {
		return "", err
	}
	return maintenanceRun, nil
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
	if m.unfinished, err = unfinishedRun(m.StateDir); err != nil {
		return false, err
	}
	if m.isSuspended() {
		return wasInterrupted(m.StateDir, m.log)
	}
	if state.NodeName != before.NodeName || m.kubeconfigChanged() {
		if err := m.openNode(m.node.BootID); err != nil {
			return false, err
		}
	} else if !wasSuspended && before.Runs == state.Runs {
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

// isSuspended reports whether an upgrade or a maintenance is unfinished, during which the node is not
// checked.
func (m *nodeMonitor) isSuspended() bool { return m.unfinished != "" }

// wasInterrupted reports, with an error, whether no process runs the unfinished upgrade or maintenance any
// more.
func wasInterrupted(stateDir string, log report.Log) (bool, error) {
	locked, err := ledger.IsLocked(stateDir)
	if err != nil || locked {
		return false, err
	}
	run, err := unfinishedRun(stateDir)
	if err != nil || run == "" {
		return false, err // it has just finished
	}
	log.Note(run + " of this host was interrupted; restarting the service to resume it")
	return true, report.Fail(report.Failed, "", "%s was interrupted", run)
}
