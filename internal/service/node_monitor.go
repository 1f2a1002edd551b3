// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/monitor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodeMonitor monitors a node that has joined.
type nodeMonitor struct {
	Options
	state   joinstate.State
	log     report.Log
	systemd *systemd.Manager // nil if systemd is unreachable
	node    *node.Node

	hasResult  bool // a check has run, so the metrics are meaningful
	driftCount *int // result of the last completed check of drift; nil before

	pkiDir            string // directory of kubelet's certificates
	kubeconfig        string // path of kubelet's kubeconfig
	kubeconfigContent []byte // its content when node was opened
}

func (m *nodeMonitor) open(ctx context.Context) error {
	facts, err := hostinfo.Gather(ctx)
	if err != nil {
		return err
	}
	m.systemd, _ = systemd.Open(ctx) // without systemd, findings have less detail
	m.kubeconfigContent, err = os.ReadFile(m.kubeconfig)
	if err != nil {
		m.close()
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	// Discard the log output about retried requests.
	m.node, err = node.OpenNode(m.kubeconfig, m.state.NodeName, nil, report.Log{})
	if err != nil {
		m.close()
		return err
	}
	m.node.Registered, m.node.RequestedTaints = m.state.Registered, m.state.Config.Taints
	m.node.BootID, m.node.Host = facts.BootID, node.JoinedHost(m.systemd, crio.NetworkDirectory)
	return nil
}

func (m *nodeMonitor) close() {
	if m.systemd != nil {
		m.systemd.Close()
	}
}

// reportStatus reports to systemd that the service is alive, and writes the
// metrics. It writes no metrics before the first findings or the end of all checks,
// because zero findings would then read as healthy.
func (m *nodeMonitor) reportStatus(ctx context.Context, active []monitor.Change, settled bool) {
	status := statusLine(m.state.NodeName, active, settled)
	if m.state.Upgrade != nil {
		status = "an upgrade of " + m.state.NodeName + " is in progress"
	}
	report.SystemdNotifier{}.Watchdog(status)
	m.hasResult = m.hasResult || settled || len(active) > 0
	if m.Metrics != "" && m.hasResult {
		m.writeMetrics(ctx, active)
	}
}

// statusLine returns the line that systemctl status prints.
func statusLine(name string, active []monitor.Change, settled bool) string {
	switch {
	case len(active) == 0 && settled:
		return name + " is Ready and schedulable"
	case len(active) == 0:
		return checkingStatus(name)
	}
	text := active[0].Message
	if more := len(active) - 1; more > 0 {
		text = fmt.Sprintf("%s (and %d more; see: hcp-node-agent doctor)", text, more)
	}
	return text
}

// checkingStatus returns the status until the first checks are complete.
func checkingStatus(name string) string { return "checking " + name }
