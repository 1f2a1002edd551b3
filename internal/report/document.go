// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// APIVersion is the API version of every JSON document and of the configuration file.
const APIVersion = "hcp-node-agent.io/v1alpha1"

// TypeMeta is the beginning of every JSON document.
type TypeMeta struct {
	APIVersion string `json:"apiVersion" doc:"version of the format"`
	Kind       string `json:"kind" doc:"kind of the document"`
}

// Meta returns the TypeMeta of a document of this kind.
func Meta(kind string) TypeMeta { return TypeMeta{APIVersion: APIVersion, Kind: kind} }

// StepStatus is how a step ended.
type StepStatus string

// The statuses of steps. They have the values of the events that report the end of a step.
const (
	StatusOK        = StepStatus(StepDone)
	StatusUnchanged = StepStatus(StepUnchanged) // the step changed nothing
	StatusSkipped   = StepStatus(StepSkipped)   // on request
	StatusFailed    = StepStatus(StepFailed)
)

// Enum returns all statuses.
func (StepStatus) Enum() []string {
	return schema.Strings(StatusOK, StatusUnchanged, StatusSkipped, StatusFailed)
}

// StepResult is the result of one step.
type StepResult struct {
	Name     string     `json:"name" doc:"name of the step"`
	Result   StepStatus `json:"result" doc:"how the step ended"`
	Message  string     `json:"message,omitempty" doc:"summary, or the error of a failed step"`
	Remedy   Remedy     `json:"remedy,omitempty" doc:"how to resolve the failure of the step"`
	Seconds  float64    `json:"seconds" doc:"duration of the step in seconds"`
	Warnings []Problem  `json:"warnings,omitempty" doc:"warnings of the step"`
	Started  time.Time  `json:"started" doc:"start of the step"`
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
		// A step that does not report its end was interrupted.
		r.Steps = append(r.Steps, StepResult{Name: event.Step, Result: StatusFailed, Started: event.Time})
	case Warning:
		if n := len(r.Steps); n > 0 {
			r.Steps[n-1].Warnings = append(r.Steps[n-1].Warnings, Problem{event.Message, event.Remedy})
		}
	case StepDone, StepUnchanged, StepSkipped, StepFailed:
		if n := len(r.Steps); n > 0 {
			last := &r.Steps[n-1]
			last.Result, last.Message, last.Remedy = StepStatus(event.Kind), event.Message, event.Remedy
			last.Seconds = event.Elapsed.Seconds()
		}
	}
}

// StepFailed reports whether the last step failed. Other sinks have printed its error.
func (r *Recorder) StepFailed() bool {
	return len(r.Steps) > 0 && r.Steps[len(r.Steps)-1].Result == StatusFailed
}

// WriteJSON writes an indented document with a final newline. Empty lists and maps are never null.
func WriteJSON(w io.Writer, document any) error { return encode(w, document, "  ") }

// WriteJSONLine writes a document as WriteJSON does, on one line.
func WriteJSONLine(w io.Writer, document any) error { return encode(w, document, "") }

func encode(w io.Writer, document any, indent string) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(schema.WithoutNull(document))
	if err == nil {
		_, err = w.Write(escapeJSON(encoded.Bytes()))
	}
	return wrap.Errorf(err, "writing JSON document")
}

// CommandResult contains the last fields of a document: the result of its command.
type CommandResult struct {
	ExitCode Code   `json:"exitCode" doc:"exit code of the command"`
	Error    string `json:"error,omitempty" doc:"what failed and why; absent if the command succeeded"`
	Remedy   Remedy `json:"remedy,omitempty" doc:"how to resolve the failure"`

	Causes []Problem `json:"causes,omitempty" doc:"causes of the failure, if there are several"`
}

// ResultOf returns the result of a command that ended with err.
func ResultOf(err error) CommandResult {
	r := CommandResult{ExitCode: CodeOf(err), Remedy: RemedyOf(err), Causes: CausesOf(err)}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
