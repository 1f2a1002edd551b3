package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// APIVersion is the API version of every JSON document and of the configuration file.
const APIVersion = "node.hcp-agent.io/v1alpha1"

// TypeMeta is the beginning of every JSON document.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Meta returns the TypeMeta of a document of this kind.
func Meta(kind string) TypeMeta { return TypeMeta{APIVersion: APIVersion, Kind: kind} }

// StepResult is the result of one step.
type StepResult struct {
	Name     string        `json:"name"`
	Result   EventKind     `json:"result"` // ok, same, skip or fail
	Message  string        `json:"message,omitempty"`
	Remedy   Remedy        `json:"remedy,omitempty"`
	Seconds  float64       `json:"seconds"`
	Warnings []StepWarning `json:"warnings,omitempty"`
	Started  time.Time     `json:"started"`
}

// StepWarning is a warning of a step with its remedy.
type StepWarning struct {
	Message string `json:"message"`
	Remedy  Remedy `json:"remedy,omitempty"`
}

// Recorder is a Sink that collects the results of a run for JSON documents.
type Recorder struct {
	Headline string
	Steps    []StepResult
}

// Emit records one event.
func (r *Recorder) Emit(event Event) {
	switch event.Kind {
	case Headline:
		r.Headline = event.Message
	case StepStarted:
		r.Steps = append(r.Steps, StepResult{Name: event.Step, Started: event.Time})
	case Warning:
		if n := len(r.Steps); n > 0 {
			r.Steps[n-1].Warnings = append(r.Steps[n-1].Warnings, StepWarning{event.Message, Remedy(event.Remedy)})
		}
	case StepDone, StepUnchanged, StepSkipped, StepFailed:
		if n := len(r.Steps); n > 0 {
			last := &r.Steps[n-1]
			last.Result, last.Message, last.Remedy = event.Kind, event.Message, Remedy(event.Remedy)
			last.Seconds = event.Elapsed.Seconds()
		}
	case Waiting, Note, Detail, CommandFailed:
	}
}

// WriteJSON writes an indented document with a final newline.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("writing JSON document: %w", err)
	}
	return nil
}
