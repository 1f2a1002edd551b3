// SPDX-License-Identifier: Apache-2.0

// Package reporttest records the events of a step, for tests.
package reporttest

import (
	"strings"
	"sync"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Recorder is a report.Sink that stores the events.
type Recorder struct {
	mu     sync.Mutex
	events []report.Event
}

// Emit stores an event.
func (r *Recorder) Emit(event report.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// Log returns the log of a step whose events r stores.
func (r *Recorder) Log() report.Log { return report.Log{Sink: r, Step: "test"} }

// Events returns the events so far.
func (r *Recorder) Events() []report.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]report.Event(nil), r.events...)
}

// Text returns all messages with their remedies.
func (r *Recorder) Text() string {
	var text strings.Builder
	for _, event := range r.Events() {
		text.WriteString(event.Message + "\n" + string(event.Remedy) + "\n")
	}
	return text.String()
}
