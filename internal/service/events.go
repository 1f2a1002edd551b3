// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// eventsTimeout is the maximum time for all Events of one check. systemd considers
// the service hung if it sends no notification within WatchdogSec.
const eventsTimeout = 30 * time.Second

// publishChanges writes the changes found by a check to the journal, and then to
// the cluster as Events.
func (m *nodeMonitor) publishChanges(ctx context.Context, changes []Change) {
	for _, change := range changes {
		if text := changeMessage(change); change.Resolved {
			m.log.Note(text)
		} else {
			m.log.Warn(text, change.Remedy)
		}
	}
	// Stop at the first failure. If the cluster is unreachable, there is a finding
	// about that already, further Events would fail too, and the journal contains all
	// changes.
	bounded, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	for _, change := range changes {
		if err := m.recordEvent(bounded, change); err != nil {
			if ctx.Err() == nil {
				m.log.Note(err.Error())
			}
			return
		}
	}
}

// recordEvent records the change as an Event, which "oc describe node" prints.
func (m *nodeMonitor) recordEvent(ctx context.Context, change Change) error {
	text := changeMessage(change)
	if remedy := change.Remedy.Inline(); !change.Resolved && remedy != "" {
		text += " (" + remedy + ")"
	}
	return m.node.RecordEvent(ctx, !change.Resolved && change.Severity != report.SeverityNote, eventReason(change), text)
}

// changeMessage returns the log message for a change.
func changeMessage(change Change) string {
	if change.Resolved {
		return "resolved: " + change.Message
	}
	return change.Message
}

// eventReason returns the reason of the Event. That of a resolved finding has a suffix.
func eventReason(change Change) string {
	if change.Resolved {
		return string(change.Reason) + "Resolved"
	}
	return string(change.Reason)
}
