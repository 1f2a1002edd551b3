package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/watch"
)

// eventsTimeout is the maximum time for all Events of one check. systemd considers
// the service hung if it sends no notification within WatchdogSec.
const eventsTimeout = 30 * time.Second

// tell writes the changes found by a check to the journal, and then to
// the cluster as Events.
func (s *service) tell(ctx context.Context, changes []watch.Change) {
	for _, change := range changes {
		if text := sentence(change); change.Gone {
			s.log.Note(text)
		} else {
			s.log.Warn(text, change.Remedy)
		}
	}
	// Stop at the first failure. If the cluster is unreachable, there is a finding
	// about that already, further Events would fail too, and the journal contains all
	// changes.
	bounded, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	for _, change := range changes {
		if err := s.event(bounded, change); err != nil {
			if ctx.Err() == nil {
				s.log.Note(err.Error())
			}
			return
		}
	}
}

// event records the change as an Event, which "oc describe node" prints.
func (s *service) event(ctx context.Context, change watch.Change) error {
	text := sentence(change)
	if remedy := report.Remedy(change.Remedy).Inline(); !change.Gone && remedy != "" {
		text += " (" + remedy + ")"
	}
	return s.node.Event(ctx, !change.Gone && change.Severity != report.SeverityNote, reason(change), text)
}

// sentence returns the log message for a change.
func sentence(change watch.Change) string {
	if change.Gone {
		return "no longer: " + change.Text
	}
	return change.Text
}

// reason returns the reason of the Event, in CamelCase as Kubernetes requires.
func reason(change watch.Change) string {
	if change.Gone {
		return "HCPNodeAgentResolved"
	}
	return "HCPNodeAgentFound"
}
