// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// nodeMonitor monitors a node that has joined.
type nodeMonitor struct {
	Options
	state   joinstate.State
	log     report.Log
	class   hostclass.Class
	systemd *systemd.Manager // nil if systemd is unreachable
	node    *node.Node

	isDisconnected bool // the API server did not respond to the last check of the Node

	unfinished string // an upgrade or maintenance in progress, see unfinishedRun

	result string // the last status; "" before the first result of the checks

	wake       chan string // names of checks to run at once
	repairs    repairHistory
	nodeReport nodeReport
	pending    pendingEvents
	rollout    rollout
	cas        observation
	pullSecret secretObservation
	bundle     observation
	apiServer  observation
	drift      driftCheck
	paths      nodecheck.Paths

	pkiDir            string // directory of kubelet's certificates
	kubeconfig        string // path of kubelet's kubeconfig
	kubeconfigContent []byte // its content when node was opened
}

func (m *nodeMonitor) open(ctx context.Context) error {
	facts, err := hostinfo.Gather(ctx)
	if err != nil {
		return err
	}
	m.class = facts.Class()
	m.systemd, _ = systemd.Open(ctx) // without systemd, findings have less detail
	return m.openNode(facts.BootID)
}

// openNode connects to the cluster with kubelet's current kubeconfig.
func (m *nodeMonitor) openNode(bootID string) error {
	content, err := os.ReadFile(m.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	// Discard the log output about retried requests.
	opened, err := nodecheck.OpenNode(m.kubeconfig, m.state, bootID, m.systemd.Reader(), report.Log{})
	if err != nil {
		return err
	}
	m.node, m.kubeconfigContent = opened, content
	return nil
}

func (m *nodeMonitor) close() {
	if m.systemd != nil {
		m.systemd.Close()
	}
}

// reportStatus reports to systemd that the service is alive, and writes the
// metrics. The last result remains while a check is repeated. It writes no metrics before the first findings or the end
// of all checks, because zero findings would then read as healthy.
func (m *nodeMonitor) reportStatus(ctx context.Context, active []Change, settled bool) {
	if settled || len(active) > 0 {
		m.result = statusLine(m.state.NodeName, active)
	}
	status := cmp.Or(m.result, checkingStatus(m.state.NodeName))
	if m.isSuspended() {
		status = m.unfinished + " of " + m.state.NodeName + " is in progress"
	}
	report.SystemdNotifier{}.Watchdog(status)
	if m.Metrics == "" || m.result == "" {
		return
	}
	if err := writeMetrics(m.Metrics, m.metrics(active, time.Now())); err != nil && ctx.Err() == nil {
		m.log.Warn(err.Error(), "")
	}
}

// reportAndRepair reports the status to systemd, the metrics and the cluster, and repairs a finding if that is due.
func (m *nodeMonitor) reportAndRepair(ctx context.Context, active []Change, settled bool) {
	m.reportStatus(ctx, active, settled)
	if m.result != "" {
		m.writeReport(ctx, active)
	}
	m.pending.write(ctx, m.log, m.node.RecordEvent)
	if m.repairActive(ctx, active) {
		m.reportStatus(ctx, active, settled)
	}
}

// requestCheck lets a check run at once. If many requests are pending, it does nothing.
func (m *nodeMonitor) requestCheck(name string) {
	select {
	case m.wake <- name:
	default:
	}
}

// settleTime is the time in which changes of the network are combined: an address is
// removed before its successor is added.
const settleTime = 2 * time.Second

// watchNetwork requests the check of the host after each change of addresses or of the host
// name, until ctx ends. Without NetworkManager only the interval of the check applies.
func (m *nodeMonitor) watchNetwork(ctx context.Context) {
	var changed <-chan struct{}
	client, err := networkmanager.Open(ctx)
	if err == nil {
		defer client.Close()
		changed, err = client.Watch(ctx)
	}
	if err != nil {
		m.log.Note("changes of the node address are noticed only within minutes: " + err.Error())
		return
	}
	for range changed {
		if wait.Sleep(ctx, settleTime) != nil {
			return
		}
		m.requestCheck(hostCheck)
	}
}

// statusLine returns the line that systemctl status prints about the findings of complete checks.
func statusLine(name string, active []Change) string {
	if len(active) == 0 {
		return name + " is Ready and schedulable"
	}
	text := active[0].Message
	if more := len(active) - 1; more > 0 {
		text = fmt.Sprintf("%s (and %d more; see: hcp-node-agent doctor)", text, more)
	}
	return text
}

// checkingStatus returns the status until the first checks are complete.
func checkingStatus(name string) string { return "checking " + name }
