// SPDX-License-Identifier: Apache-2.0

package report

import (
	"sync"
	"time"
)

// Heartbeat is a Sink in front of a log. It drops repeated waiting messages. While a step runs, it
// repeats what the step waits for, so that the log shows that it still runs.
type Heartbeat struct {
	Sink     Sink
	First    time.Duration // time until the first repetition
	Interval time.Duration // time between the other repetitions

	mutex   sync.Mutex
	current Event // start of the running step, or what it waits for
	timer   *time.Timer
}

// Emit forwards the event.
func (h *Heartbeat) Emit(event Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if event.Kind == Waiting && h.current.Kind == Waiting && event.Step == h.current.Step &&
		event.Message == h.current.Message {
		return
	}
	switch event.Kind {
	case StepStarted, Waiting:
		h.stop()
		h.current = event
		h.timer = time.AfterFunc(h.First, func() { h.repeat(event) })
	case StepDone, StepUnchanged, StepSkipped, StepFailed, CommandFailed:
		h.stop()
	}
	h.Sink.Emit(event)
}

// repeat emits an event again as a waiting message, with the time since it first occurred.
func (h *Heartbeat) repeat(event Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.current.Time.Equal(event.Time) {
		return // another event has replaced it meanwhile
	}
	if event.Kind == StepStarted {
		event.Message = "waiting for the step to complete"
	}
	started := event.Time
	event.Kind, event.Time, event.RetryAt = Waiting, time.Now(), time.Time{}
	event.Elapsed = event.Time.Sub(started)
	h.Sink.Emit(event)
	h.timer.Reset(h.Interval)
}

// Stop ends the repetition, so that other output can be written.
func (h *Heartbeat) Stop() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.stop()
}

func (h *Heartbeat) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
	h.current = Event{}
}
