package service

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// dedupSink buffers the events of an attempt while they repeat the previous
// attempt. It passes all events on once the attempt gets past the step that failed
// before, or starts a first step where none had started before.
type dedupSink struct {
	sink        report.Sink
	previous    attempt // the previous attempt; if its err is nil, all events are passed on
	buffered    []report.Event
	failedStep  string // the step that failed
	passThrough bool
}

// Emit buffers the event or passes it on.
func (r *dedupSink) Emit(event report.Event) {
	if event.Kind == report.StepFailed {
		r.failedStep = event.Step
	}
	past := (event.Kind == report.StepDone || event.Kind == report.StepUnchanged) && event.Step == r.previous.step ||
		event.Kind == report.StepStarted && r.previous.step == ""
	r.buffered = append(r.buffered, event)
	if r.passThrough || r.previous.err == nil || past {
		r.flush()
	}
}

// flush passes on the buffered events and, from then on, all later ones
// immediately.
func (r *dedupSink) flush() {
	r.passThrough = true
	if r.sink != nil {
		for _, event := range r.buffered {
			r.sink.Emit(event)
		}
	}
	r.buffered = nil
}
