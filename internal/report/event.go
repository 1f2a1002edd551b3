// SPDX-License-Identifier: Apache-2.0

// Package report distributes a stream of events to several outputs: terminal, pipe, JSON
// and systemd. It also defines the error type that carries an exit code and a remedy.
package report

import "time"

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	StepStarted   EventKind = "started"   // the step starts
	StepDone      EventKind = "ok"        // the step succeeded; Message is a summary
	StepUnchanged EventKind = "unchanged" // the step found the desired state and changed nothing
	StepSkipped   EventKind = "skipped"   // excluded on request
	StepFailed    EventKind = "failed"    // the step failed; Message is the error
	Waiting       EventKind = "waiting"   // what is awaited, and the last observation
	Note          EventKind = "note"      // informational
	Warning       EventKind = "warning"
	Headline      EventKind = "headline" // describes the whole run
	Detail        EventKind = "detail"   // shown only with --verbose
	CommandFailed EventKind = "error"    // the command failed outside of a step
)

// Event is one event of a run.
type Event struct {
	Time    time.Time     `json:"time"`
	Kind    EventKind     `json:"kind"`
	Step    string        `json:"step,omitempty"`
	Message string        `json:"message,omitempty"`
	Remedy  Remedy        `json:"remedy,omitempty"`  // as in Remedy
	Elapsed time.Duration `json:"elapsed,omitempty"` // of the step or of the wait, in nanoseconds
	RetryAt time.Time     `json:"next,omitzero"`     // time of the next attempt; zero if unknown
	Change  string        `json:"change,omitempty"`  // changed object of the host: KIND:TARGET
	// Causes of a failure, if there are several. Message and Remedy have all of them, too.
	Causes []Problem `json:"causes,omitempty"`
	// Name of the related certificate signing request.
	Request string `json:"request,omitempty"`
}

// Sink receives events in order, from one goroutine.
type Sink interface {
	Emit(Event)
}

// Sinks forwards every event to several sinks.
type Sinks []Sink

// Emit forwards the event to all sinks.
func (s Sinks) Emit(event Event) {
	for _, sink := range s {
		sink.Emit(event)
	}
}

// Log emits the events of one step to a Sink. The zero value discards events.
type Log struct {
	Sink    Sink
	Step    string
	Request string // name of the related certificate signing request, if any
}

// Headline logs a sentence about the whole run.
func (l Log) Headline(message string) { l.emit(Event{Kind: Headline, Message: message}) }

// Note emits an informational message.
func (l Log) Note(message string) { l.emit(Event{Kind: Note, Message: message}) }

// Warn emits a warning and its remedy.
func (l Log) Warn(message string, remedy Remedy) {
	l.emit(Event{Kind: Warning, Message: message, Remedy: remedy})
}

// Fail reports the failure of the command.
func (l Log) Fail(message string, remedy Remedy) {
	l.emit(Event{Kind: CommandFailed, Message: message, Remedy: remedy})
}

// Wait reports what is awaited and the last observation. Outputs show a repeated message
// only once.
func (l Log) Wait(message string, remedy Remedy) {
	l.emit(Event{Kind: Waiting, Message: message, Remedy: remedy})
}

// WaitForRetry is Wait for an operation that is retried after pause.
func (l Log) WaitForRetry(message string, remedy Remedy, pause time.Duration) {
	l.emit(Event{Kind: Waiting, Message: message, Remedy: remedy, RetryAt: time.Now().Add(pause)})
}

// Changed reports one changed object of the host.
func (l Log) Changed(kind, target string) {
	l.emit(Event{Kind: Detail, Message: "changed " + kind + " " + target, Change: kind + ":" + target})
}

// ForRequest returns a Log whose events relate to a certificate signing request.
func (l Log) ForRequest(request string) Log {
	l.Request = request
	return l
}

func (l Log) emit(event Event) {
	if l.Sink == nil {
		return
	}
	event.Time, event.Step, event.Request = time.Now(), l.Step, l.Request
	l.Sink.Emit(event)
}
