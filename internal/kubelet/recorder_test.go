package kubelet

import (
	"strings"
	"sync"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// recorder stores the events of a step.
type recorder struct {
	mu     sync.Mutex
	events []report.Event
}

// Emit stores an event.
func (r *recorder) Emit(event report.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

func (r *recorder) log() report.Log { return report.Log{Sink: r, Step: "test"} }

// text returns all messages with their remedies.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, event := range r.events {
		text.WriteString(event.Message + "\n" + event.Remedy + "\n")
	}
	return text.String()
}
