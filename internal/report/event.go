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
	Headline    Kind = "head"   // says what the whole run is about
	Detail      Kind = "detail" // what only --verbose shows
	Ended       Kind = "error"  // the verb has failed, outside of a step
)

// Event is one thing that happened.
type Event struct {
	Time    time.Time     `json:"time"`
	Kind    Kind          `json:"kind"`
	Step    string        `json:"step,omitempty"`
	Message string        `json:"message,omitempty"`
	Remedy  string        `json:"remedy,omitempty"`  // what to do next, as Remedy has it
	Elapsed time.Duration `json:"elapsed,omitempty"` // of the step, in nanoseconds
	Next    time.Time     `json:"next,omitzero"`     // when it is tried again; zero: nobody knows
	Change  string        `json:"change,omitempty"`  // the thing of the host that was changed, as KIND:TARGET
	Request string        `json:"request,omitempty"` // name of the certificate signing request that it is about
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
	Sink    Sink
	Step    string
	Request string // name of the certificate signing request that it speaks about; mostly ""
}

// Note says something worth knowing.
func (l Log) Note(message string) { l.emit(Event{Kind: Note, Message: message}) }

// Warn says something that should be looked at, and what to do.
func (l Log) Warn(message, remedy string) {
	l.emit(Event{Kind: Warning, Message: message, Remedy: remedy})
}

// Wait says what is waited for, and the last thing seen. The same message
// again is not shown again.
func (l Log) Wait(message, remedy string) {
	l.emit(Event{Kind: Waiting, Message: message, Remedy: remedy})
}

// Again is Wait for something that is tried again after a pause.
func (l Log) Again(message, remedy string, pause time.Duration) {
	l.emit(Event{Kind: Waiting, Message: message, Remedy: remedy, Next: time.Now().Add(pause)})
}

// Changed tells of one thing of the host that was changed.
func (l Log) Changed(kind, target string) {
	l.emit(Event{Kind: Detail, Message: "changed " + kind + " " + target, Change: kind + ":" + target})
}

// About is the Log for what is said about a certificate signing request.
func (l Log) About(request string) Log {
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
