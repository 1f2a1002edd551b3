// SPDX-License-Identifier: Apache-2.0

package service

import (
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Limits of repairs. A repair restarts kubelet, so it must not be repeated in a loop.
const (
	repairBackoff    = 5 * time.Minute // after the first repair of a finding; doubles with each
	maxRepairBackoff = 6 * time.Hour
	repairWindow     = time.Hour
	maxRepairs       = 3 // of findings with the same reason, in repairWindow
)

// nextRepair returns the active finding to repair now. It returns false if there is none, if
// the last repairs are too recent, or if kubelet must not be restarted: with another host
// name it would not start again, and after a rollback of the image the administrator decides which /etc the
// node gets.
func nextRepair(active []Change, history []joinstate.Repair, now time.Time) (Change, bool) {
	isForAdministrator := func(c Change) bool {
		return c.Reason == report.HostNameChanged || c.Reason == report.HostRolledBack
	}
	if slices.ContainsFunc(active, isForAdministrator) {
		return Change{}, false
	}
	// kubelet is configured before it registers again.
	for _, reason := range []report.Reason{
		report.ConfigurationDrift, report.NodeAddressChanged, report.ClusterCANotTrusted, report.APIServerMoved,
		report.TrustBundleOutdated, report.PullSecretOutdated, report.ClusterCAObsolete, report.NodeDeleted,
	} {
		for _, change := range active {
			if change.Reason == reason && mayRepair(change, history, now) {
				return change, true
			}
		}
	}
	return Change{}, false
}

// repairable returns the findings that the service may repair. On a standalone cluster, the machine-config-daemon
// applies updates of the pool, which are drift: the service would revert them. Without a connection to the API server,
// findings from before remain, and a restart of kubelet could not register the Node.
func repairable(active []Change, isHosted, isDisconnected bool) []Change {
	return slices.DeleteFunc(slices.Clone(active), func(c Change) bool {
		switch c.Reason {
		case report.ConfigurationDrift:
			return !isHosted
		case report.TrustBundleOutdated, report.PullSecretOutdated, report.NodeDeleted:
			return isDisconnected
		}
		return false
	})
}

// mayRepair reports whether earlier repairs permit another one. The first repair of a finding
// is immediate. A finding of which an earlier process made repairs counts as the same. Times in the future
// are those of a wrong clock and are skipped.
func mayRepair(change Change, history []joinstate.Repair, now time.Time) bool {
	wait, last, recent := time.Duration(0), time.Time{}, 0
	for _, record := range history {
		if record.Reason != change.Reason || record.At.After(now) {
			continue
		}
		if now.Sub(record.At) < repairWindow {
			recent++
		}
		if record.Since.IsZero() || record.Since.Equal(change.Since) {
			wait, last = min(max(2*wait, repairBackoff), maxRepairBackoff), record.At
		}
	}
	return recent < maxRepairs && now.Sub(last) >= wait
}
