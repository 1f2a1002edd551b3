package service

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/monitor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodeMonitor watches a node that has joined.
type nodeMonitor struct {
	Options
	state     joinstate.State
	log       report.Log
	systemd   *systemd.Manager // nil if systemd is unreachable
	node      *node.Node
	hasResult bool // a check has run, so the metrics are meaningful

	kubeconfig        string // path of kubelet's kubeconfig
	kubeconfigContent []byte // its content when node was opened
}

func (w *nodeMonitor) open(ctx context.Context) error {
	facts, err := hostinfo.Gather(ctx)
	if err != nil {
		return err
	}
	w.systemd, _ = systemd.Open(ctx) // without systemd, findings have less detail
	w.kubeconfigContent, err = os.ReadFile(w.kubeconfig)
	if err != nil {
		w.close()
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	// Discard the log output about retried requests.
	w.node, err = node.OpenNode(w.kubeconfig, w.state.NodeName, nil, report.Log{})
	if err != nil {
		w.close()
		return err
	}
	w.node.Registered = w.state.Registered
	w.node.BootID, w.node.Host = facts.BootID, node.JoinedHost(w.systemd, crio.NetworkDirectory)
	return nil
}

func (w *nodeMonitor) close() {
	if w.systemd != nil {
		w.systemd.Close()
	}
}

// reportStatus reports to systemd that the watcher is alive, and writes the
// metrics. It writes no metrics before the first findings or the end of all checks,
// because zero findings would then read as healthy.
func (w *nodeMonitor) reportStatus(ctx context.Context, active []monitor.Change, settled bool) {
	report.SystemdNotifier{}.Watchdog(statusLine(w.state.NodeName, active, settled))
	w.hasResult = w.hasResult || settled || len(active) > 0
	if w.Metrics == "" || !w.hasResult {
		return
	}
	var out bytes.Buffer
	err := report.WriteMetrics(&out, w.metrics(active, time.Now()))
	if err == nil {
		err = hostfs.WriteReadable(filepath.Dir(w.Metrics), filepath.Base(w.Metrics), out.Bytes())
	}
	if err != nil && ctx.Err() == nil {
		w.log.Warn(err.Error(), "")
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
