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

// event is an Event in the cluster, which "oc describe node" prints.
type event struct {
	warning      bool
	reason, text string
}

// publishChanges writes the changes found by a check to the journal, and then to
// the cluster as Events.
func (m *nodeMonitor) publishChanges(ctx context.Context, changes []Change) {
	events := make([]event, 0, len(changes))
	for _, change := range changes {
		e := event{change.Severity != report.SeverityNote, string(change.Reason), change.Message}
		if change.Resolved {
			e = event{false, e.reason + "Resolved", "resolved: " + e.text}
			m.log.Note(e.text)
		} else {
			m.log.Warn(e.text, change.Remedy)
			if remedy := change.Remedy.Inline(); remedy != "" {
				e.text += " (" + remedy + ")"
			}
		}
		events = append(events, e)
	}
	m.recordEvents(ctx, events...)
}

// recordEvents writes Events until the first failure. If the cluster is unreachable, there is a finding about
// that already, further Events would fail too, and the journal contains all changes.
func (m *nodeMonitor) recordEvents(ctx context.Context, events ...event) {
	bounded, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	for _, e := range events {
		if err := m.node.RecordEvent(bounded, e.warning, e.reason, e.text); err != nil {
			if ctx.Err() == nil {
				m.log.Note(err.Error())
			}
			return
		}
	}
}
