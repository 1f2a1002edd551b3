// SPDX-License-Identifier: Apache-2.0

// Package trace records how long the parts of a command take, and encodes them in the Trace Event Format, which
// ui.perfetto.dev and chrome://tracing display. The context of the command carries the recorder: without one, nothing
// is recorded.
package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Category is the kind of a span. Each has lines of its own in the display, in the order of the constants.
type Category int

// The categories.
const (
	Step    Category = iota // a step of a flow
	Wait                    // what is awaited, until something else is
	Pause                   // a pause between two attempts
	Unit                    // a job of systemd
	Command                 // a program that is run
	DBus                    // a call over D-Bus
	Request                 // an HTTP request, until the headers of its response
	categories
)

// String returns the name of the category.
func (c Category) String() string {
	return [...]string{"step", "wait", "pause", "unit", "command", "D-Bus", "request"}[c]
}

// Recorder records spans. Its methods can be called concurrently.
type Recorder struct {
	began time.Time

	mu    sync.Mutex
	spans []span
}

type span struct {
	category Category
	name     string
	start    time.Duration // since the recorder began
	end      time.Duration // 0: it has not ended
}

// NewRecorder returns a recorder whose time begins now.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

type contextKey struct{}

// Context returns a context in which Start records with r.
func (r *Recorder) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// From returns the recorder of ctx, nil if there is none.
func From(ctx context.Context) *Recorder {
	r, _ := ctx.Value(contextKey{}).(*Recorder)
	return r
}

// Start begins a span in the recorder of ctx, and returns the function that ends it.
func Start(ctx context.Context, category Category, name string) (end func()) {
	return From(ctx).Start(category, name)
}

// Start begins a span, and returns the function that ends it. A nil recorder records nothing.
func (r *Recorder) Start(category Category, name string) (end func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.spans)
	r.spans = append(r.spans, span{category: category, name: name, start: time.Since(r.began)})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spans[i].end = time.Since(r.began)
	}
}

// event is an event of the Trace Event Format. Times are in microseconds.
type event struct {
	Name     string            `json:"name"`
	Category string            `json:"cat,omitempty"`
	Phase    string            `json:"ph"`
	Start    float64           `json:"ts"`
	Duration float64           `json:"dur"`
	Process  int               `json:"pid"`
	Thread   int               `json:"tid"`
	Args     map[string]string `json:"args,omitempty"`
}

// Encode writes the spans. A span that has not ended ends now. Spans that overlap and have the same category are on
// different lines, which the format calls threads.
func (r *Recorder) Encode(w io.Writer) error {
	r.mu.Lock()
	spans := slices.Clone(r.spans)
	r.mu.Unlock()
	now := time.Since(r.began)
	events := make([]event, 0, len(spans))
	var lines [categories][]time.Duration // when the last span of each line ends
	for _, s := range spans {             // in the order of their starts
		if s.end == 0 {
			s.end = now
		}
		ofCategory := &lines[s.category]
		line := slices.IndexFunc(*ofCategory, func(end time.Duration) bool { return end <= s.start })
		if line < 0 {
			line = len(*ofCategory)
			*ofCategory = append(*ofCategory, 0)
		}
		(*ofCategory)[line] = s.end
		events = append(events, event{
			Name: s.name, Category: s.category.String(), Phase: "X", Process: 1, Thread: thread(s.category, line),
			Start: microseconds(s.start), Duration: microseconds(s.end - s.start),
		})
	}
	for category, ofCategory := range lines {
		for line := range ofCategory {
			events = append(events, event{
				Name: "thread_name", Phase: "M", Process: 1, Thread: thread(Category(category), line),
				Args: map[string]string{"name": Category(category).String()},
			})
		}
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"}); err != nil {
		return fmt.Errorf("encoding the trace: %w", err)
	}
	return nil
}

// thread returns the number of a line, by which the display sorts.
func thread(category Category, line int) int { return 100*int(category) + line + 1 }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
