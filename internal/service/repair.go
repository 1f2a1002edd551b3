// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// repairTimeout is the maximum time of a repair. systemd considers the service hung if it
// sends no notification within WatchdogSec.
const repairTimeout = 8 * time.Minute

// repairActive repairs one of the active findings, if repairs are enabled and one is due, and
// lets its check run again. While another run of the agent changes the host, it does nothing.
// It reports whether it did something.
func (m *nodeMonitor) repairActive(ctx context.Context, active []Change) bool {
	if !m.Config.Repair {
		return false
	}
	change, due := nextRepair(repairable(active, m.state.Hosted, m.isDisconnected), m.repairs.records, time.Now())
	if !due || !m.mayChangeHost(ctx) {
		return false
	}
	m.log.Note("repairing: " + change.Message)
	report.SystemdNotifier{}.Watchdog("repairing: " + change.Message)
	bounded, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	var result string
	err := m.repairs.add(m.StateDir, joinstate.Repair{Reason: change.Reason, At: time.Now(), Since: change.Since})
	if err == nil {
		result, err = m.repair(bounded, change.Reason)
	}
	if ctx.Err() != nil {
		return false // the service was stopped; the next start repairs the finding
	}
	m.recordEvents(ctx, logRepair(m.log, change.Reason, result, err))
	m.requestCheck(change.Check)
	return true
}

// mayChangeHost reports whether the host is joined, kubelet would start again after the
// repair, and no other run of the agent changes the host.
func (m *nodeMonitor) mayChangeHost(ctx context.Context) bool {
	state, err := joinstate.Read(m.StateDir)
	if err != nil || state.Phase() != joinstate.PhaseJoined || m.isSuspended() {
		return false
	}
	// The finding about another host name may still await confirmation.
	host, err := nodecheck.GatherHost(ctx, m.systemd.Reader(), m.StateDir, m.state.NodeName)
	if err != nil || host.HasOtherName() {
		return false
	}
	locked, err := ledger.IsLocked(m.StateDir)
	return err == nil && !locked
}

// repair makes the repair of findings with a reason, and returns what it did.
func (m *nodeMonitor) repair(ctx context.Context, reason report.Reason) (string, error) {
	if m.systemd == nil {
		return "", report.Fail(report.Failed, "systemctl is-system-running", "systemd is unreachable")
	}
	switch reason {
	case report.ConfigurationDrift:
		_, err := bootstrap.Restore(ctx, m.Options.Options)
		return "restored the joined state", err
	case report.NodeAddressChanged:
		return repairAddress(ctx, m.Options.Options, m.systemd)
	case report.ClusterCANotTrusted:
		return m.caCheck().repair(ctx, m.Options.Options)
	case report.ClusterCAObsolete:
		return m.caCheck().remove(ctx, m.Options.Options)
	case report.APIServerMoved:
		return m.apiServerCheck().repair(ctx, m.Options.Options)
	case report.PullSecretOutdated:
		return m.pullSecretCheck().repair(ctx, m.Options.Options)
	case report.TrustBundleOutdated:
		return m.trustBundleCheck().repair(ctx, m.Options.Options)
	}
	return registerAgain(ctx, m.systemd, m.node.Exists)
}

// repairAddress writes the current addresses for kubelet and CRI-O, and restarts them. kubelet
// then requests a serving certificate with the new address.
func repairAddress(ctx context.Context, options request.Options, manager *systemd.Manager) (string, error) {
	update, err := RefreshNodeIP(ctx, options)
	if err != nil {
		return "", err
	}
	if update.Note != "" {
		return "", errors.New(update.Note)
	}
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return "", err
	}
	defer tree.Close()
	for _, unit := range []string{crio.Unit, kubelet.UnitName} { // a restart of CRI-O restarts kubelet
		action, err := machine.RequiredAction(ctx, manager, tree, unit)
		if err != nil {
			return "", err
		}
		if action != systemd.RestartNeeded {
			continue
		}
		if err := manager.Restart(ctx, unit); err != nil {
			return "", report.Fail(report.Failed, report.Remedy("journalctl -b -u "+unit), "%w", err)
		}
	}
	return "kubelet and CRI-O use the node address " + nodeip.Format(update.Addresses), nil
}

// registerAgain restarts kubelet, which registers its Node only when it starts, and waits until
// the Node exists. If the API server does not respond, kubelet keeps running.
func registerAgain(
	ctx context.Context, manager *systemd.Manager, nodeExists func(context.Context) (bool, error),
) (string, error) {
	if exists, err := nodeExists(ctx); err != nil || exists {
		return "kubelet was not restarted: the Node exists again", err
	}
	if err := manager.Restart(ctx, kubelet.UnitName); err != nil {
		return "", report.Fail(report.Failed, report.Remedy("journalctl -b -u "+kubelet.UnitName), "%w", err)
	}
	for {
		exists, err := nodeExists(ctx)
		if exists {
			return "restarted kubelet, which registered the Node again", nil
		}
		if wait.Sleep(ctx, time.Second) != nil {
			text := "kubelet was restarted, but did not register the Node within " + repairTimeout.String()
			if err != nil {
				text += ": " + err.Error()
			}
			return "", report.Fail(report.Failed, report.Remedy("journalctl -b -u "+kubelet.UnitName), "%s", text)
		}
	}
}

// logRepair writes the result of a repair to the journal, and returns its Event.
func logRepair(log report.Log, reason report.Reason, result string, err error) node.Event {
	if err != nil {
		e := node.Event{
			Warning: true, Reason: string(reason) + "RepairFailed", Message: "the repair failed: " + err.Error(),
		}
		log.Warn(e.Message, report.RemedyOf(err))
		return e
	}
	e := node.Event{Reason: string(reason) + "Repaired", Message: "repaired: " + result}
	log.Note(e.Message)
	return e
}
