package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// APIVersion is that of every JSON document and configuration file.
const APIVersion = "node.hcp-agent.io/v1alpha1"

// TypeMeta begins every JSON document.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Meta is the beginning of a document of this kind.
func Meta(kind string) TypeMeta { return TypeMeta{APIVersion: APIVersion, Kind: kind} }

// StepResult is how one step went.
type StepResult struct {
	Name     string    `json:"name"`
	Result   Kind      `json:"result"` // ok, same, skip, fail
	Message  string    `json:"message,omitempty"`
	Remedy   Remedy    `json:"remedy,omitempty"`
	Seconds  float64   `json:"seconds"`
	Warnings []Warned  `json:"warnings,omitempty"`
	Started  time.Time `json:"started"`
}

// Warned is a warning of a step and what to do.
type Warned struct {
	Message string `json:"message"`
	Remedy  Remedy `json:"remedy,omitempty"`
}

// Recorder is a Sink that gathers what JSON documents tell of a run.
type Recorder struct {
	Headline string
	Steps    []StepResult
}

// Emit takes one event.
func (r *Recorder) Emit(event Event) {
	switch event.Kind {
	case Headline:
		r.Headline = event.Message
	case StepStarted:
		r.Steps = append(r.Steps, StepResult{Name: event.Step, Started: event.Time})
	case Warning:
		if n := len(r.Steps); n > 0 {
			r.Steps[n-1].Warnings = append(r.Steps[n-1].Warnings, Warned{event.Message, Remedy(event.Remedy)})
		}
	case StepDone, StepSame, StepSkipped, StepFailed:
		if n := len(r.Steps); n > 0 {
			last := &r.Steps[n-1]
			last.Result, last.Message, last.Remedy = event.Kind, event.Message, Remedy(event.Remedy)
			last.Seconds = event.Elapsed.Seconds()
		}
	case Waiting, Note, Detail, Ended:
	}
}

// WriteJSON writes a document, indented, with a final newline.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("writing JSON document: %w", err)
	}
	return nil
}
