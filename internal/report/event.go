package report

import "time"

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	StepStarted Kind = "start" // a step begins
	StepDone    Kind = "ok"    // a step has ended well; Message sums it up
	StepSame    Kind = "same"  // a step found all as it should be and changed nothing
	StepSkipped Kind = "skip"  // left out on request
	StepFailed  Kind = "fail"  // a step has failed; Message is the error
	Waiting     Kind = "wait"  // what is waited for now, and the last thing seen
	Note        Kind = "note"  // worth knowing
	Warning     Kind = "warning"
	Headline    Kind = "head" // says what the whole run is about
)

// Event is one thing that happened.
type Event struct {
	Time    time.Time     `json:"time"`
	Kind    Kind          `json:"kind"`
	Step    string        `json:"step,omitempty"`
	Message string        `json:"message,omitempty"`
	Remedy  string        `json:"remedy,omitempty"`  // the next command to type
	Elapsed time.Duration `json:"elapsed,omitempty"` // of the step, in nanoseconds
}

// Sink takes events, in order, from one goroutine.
type Sink interface {
	Emit(Event)
}

// Sinks sends every event to each of several faces.
type Sinks []Sink

// Emit passes the event on.
func (s Sinks) Emit(event Event) {
	for _, sink := range s {
		sink.Emit(event)
	}
}

// Log is a Sink together with the step that speaks; what a step is given.
type Log struct {
	Sink Sink
	Step string
}

// Note says something worth knowing.
func (l Log) Note(message string) { l.emit(Note, message, "") }

// Warn says something that should be looked at, and what to do.
func (l Log) Warn(message, remedy string) { l.emit(Warning, message, remedy) }

// Wait says what is waited for, and the last thing seen. The same message
// again is not shown again.
func (l Log) Wait(message, remedy string) { l.emit(Waiting, message, remedy) }

func (l Log) emit(kind Kind, message, remedy string) {
	if l.Sink == nil {
		return
	}
	l.Sink.Emit(Event{Time: time.Now(), Kind: kind, Step: l.Step, Message: message, Remedy: remedy})
}
