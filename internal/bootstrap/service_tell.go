package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/watch"
)

// eventsTimeout bounds all Events of one look together: systemd takes a service
// that says nothing for WatchdogSec for stuck.
const eventsTimeout = 30 * time.Second

// tell says the changes of a look in the journal, and to the cluster.
func (s *service) tell(ctx context.Context, changes []watch.Change) {
	for _, change := range changes {
		if text := sentence(change); change.Gone {
			s.log.Note(text)
		} else {
			s.log.Warn(text, change.Remedy)
		}
	}
	// Where the cluster does not answer there is a finding about that already,
	// and the next Event would not be answered either: the journal has them all.
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

// event writes a change where "oc describe node" shows it.
func (s *service) event(ctx context.Context, change watch.Change) error {
	text := sentence(change)
	if remedy := report.Remedy(change.Remedy).Inline(); !change.Gone && remedy != "" {
		text += " (" + remedy + ")"
	}
	return s.node.Event(ctx, !change.Gone && change.Severity != report.SeverityNote, reason(change), text)
}

// sentence is what is said of a change.
func sentence(change watch.Change) string {
	if change.Gone {
		return "no longer: " + change.Text
	}
	return change.Text
}

// reason is the Event's, in CamelCase as Kubernetes has them.
func reason(change watch.Change) string {
	if change.Gone {
		return "HCPNodeAgentResolved"
	}
	return "HCPNodeAgentFound"
}
