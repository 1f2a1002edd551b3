// SPDX-License-Identifier: Apache-2.0

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
func (d *dedupSink) Emit(event report.Event) {
	if event.Kind == report.StepFailed {
		d.failedStep = event.Step
	}
	past := (event.Kind == report.StepDone || event.Kind == report.StepUnchanged) && event.Step == d.previous.step ||
		event.Kind == report.StepStarted && d.previous.step == ""
	d.buffered = append(d.buffered, event)
	if d.passThrough || d.previous.err == nil || past {
		d.flush()
	}
}

// flush passes on the buffered events and, from then on, all later ones
// immediately.
func (d *dedupSink) flush() {
	d.passThrough = true
	if d.sink != nil {
		for _, event := range d.buffered {
			d.sink.Emit(event)
		}
	}
	d.buffered = nil
}
