// SPDX-License-Identifier: Apache-2.0

// Package reporttest records the events of a step, for tests.
package reporttest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Recorder is a report.Sink that stores the events.
type Recorder struct {
	mu        sync.Mutex
	events    []report.Event
	deadlines []*deadline
}

// deadline passes with an event.
type deadline struct {
	text  string // in the message or the remedy of the event
	count int    // of such events until the deadline passes
	pass  func()
}

// Emit stores an event.
func (r *Recorder) Emit(event report.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
	for _, d := range r.deadlines {
		if strings.Contains(textOf(event), d.text) {
			if d.count--; d.count == 0 {
				d.pass()
			}
		}
	}
}

// DeadlineAt returns a context whose deadline passes with the next event that contains text in its message or remedy.
func (r *Recorder) DeadlineAt(t *testing.T, text string) context.Context {
	t.Helper()
	return r.DeadlineAtNth(t, 1, text)
}

// DeadlineAtNth is DeadlineAt for the n-th such event from now on.
func (r *Recorder) DeadlineAtNth(t *testing.T, n int, text string) context.Context {
	t.Helper()
	ctx, pass := waittest.Deadline(t, fmt.Sprintf("waiting until %q is logged", text), r.Text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadlines = append(r.deadlines, &deadline{text: text, count: n, pass: pass})
	return ctx
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
		text.WriteString(textOf(event))
	}
	return text.String()
}

func textOf(event report.Event) string { return event.Message + "\n" + string(event.Remedy) + "\n" }
