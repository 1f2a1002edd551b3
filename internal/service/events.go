// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

const (
	// eventsTimeout is the maximum time for all Events of one check. systemd considers
	// the service hung if it sends no notification within WatchdogSec.
	eventsTimeout = 30 * time.Second
	// writeRetry is the pause after a failure to write Events or annotations, so that an unreachable cluster does not
	// delay each check.
	writeRetry = time.Minute
	// maxPendingEvents limits the Events that are kept while the cluster is unreachable. The oldest are dropped:
	// the journal contains all changes.
	maxPendingEvents = 100
)

// pendingEvents are Events that are not in the cluster yet, which "oc describe node" prints.
type pendingEvents struct {
	events []node.Event
	retry  time.Time // of the next attempt after a failure
}

// add adds Events that have happened now.
func (p *pendingEvents) add(events ...node.Event) {
	for _, e := range events {
		e.Time = time.Now()
		p.events = append(p.events, e)
	}
	p.events = p.events[max(0, len(p.events)-maxPendingEvents):]
}

// write writes Events with record until the first failure, and keeps the others for a later attempt. When the address
// of the host changes, for example, the requests of the first half minute fail.
func (p *pendingEvents) write(
	ctx context.Context, log report.Log, record func(context.Context, node.Event) error,
) {
	if time.Now().Before(p.retry) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	for len(p.events) > 0 {
		err := record(bounded, p.events[0])
		if ctx.Err() != nil {
			return
		}
		if failure := (*transport.Error)(nil); errors.As(err, &failure) && failure.Temporary {
			if p.retry.IsZero() { // only the first failure of an outage, about which there is a finding too
				log.Note(err.Error())
			}
			p.retry = time.Now().Add(writeRetry)
			return
		}
		if err != nil { // a repetition would fail too
			log.Note(err.Error())
		}
		p.events, p.retry = p.events[1:], time.Time{}
	}
}

// publishChanges writes the changes found by a check to the journal, and then to
// the cluster as Events.
func (m *nodeMonitor) publishChanges(ctx context.Context, changes []Change) {
	events := make([]node.Event, 0, len(changes))
	for _, change := range changes {
		e := node.Event{
			Warning: change.Severity != report.SeverityNote, Reason: string(change.Reason), Message: change.Message,
		}
		if change.Resolved {
			e = node.Event{Reason: e.Reason + "Resolved", Message: "resolved: " + e.Message}
			m.log.Note(e.Message)
		} else {
			m.log.Warn(e.Message, change.Remedy)
			if remedy := change.Remedy.Inline(); remedy != "" {
				e.Message += " (" + remedy + ")"
			}
		}
		events = append(events, e)
	}
	m.recordEvents(ctx, events...)
}

// recordEvents writes Events that have happened now, after those before that could not be written.
func (m *nodeMonitor) recordEvents(ctx context.Context, events ...node.Event) {
	m.pending.add(events...)
	m.pending.write(ctx, m.log, m.node.RecordEvent)
}
