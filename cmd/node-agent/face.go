package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// face is how the agent speaks to who called it: text for a person, or one
// JSON document on standard output and the plain story on standard error.
type face struct {
	console
	json     bool
	sink     report.Sink
	recorder *report.Recorder
	told     bool // the failure was shown as that of a step
	printed  bool // the JSON document
}

func newFace(io console, c common) *face {
	f := &face{console: io, json: c.output == "json", recorder: &report.Recorder{}}
	stream := io.out
	if f.json {
		stream = io.err
	}
	f.sink = report.Sinks{text(stream), f.recorder, report.Notify{}}
	return f
}

func text(stream io.Writer) *report.Text {
	text := &report.Text{W: stream}
	file, isFile := stream.(*os.File)
	if isFile && term.IsTerminal(int(file.Fd())) {
		width, _, err := term.GetSize(int(file.Fd()))
		if err == nil {
			text.Width = width
		}
		text.Live = os.Getenv("TERM") != "dumb"
		text.Color = text.Live && os.Getenv("NO_COLOR") == ""
	}
	return text
}

// document prints a JSON document, or what say prints for a person.
func (f *face) document(document any, say func(w io.Writer)) error {
	if f.json {
		f.printed = true
		return report.WriteJSON(f.out, document)
	}
	say(f.out)
	return nil
}

// failureDocument is printed where a verb fails before it has another.
type failureDocument struct {
	report.TypeMeta
	result
}

// failure shows an error that was not shown already.
func (f *face) failure(verb string, err error) {
	if err != nil && f.json && !f.printed {
		_ = f.document(failureDocument{report.Meta("Failure"), resultOf(err)}, nil) // the failure is told below, too
	}
	if err == nil || f.told {
		return
	}
	fmt.Fprintf(f.err, "hcp-node-agent %s: %v\n", verb, err)
	if remedy := report.RemedyOf(err); remedy != "" {
		fmt.Fprintf(f.err, "%s\n", remedy)
	}
}

// result is what every document of a run ends with.
type result struct {
	ExitCode report.Code `json:"exitCode"`
	Error    string      `json:"error,omitempty"`
	Remedy   string      `json:"remedy,omitempty"`
}

func resultOf(err error) result {
	r := result{ExitCode: report.CodeOf(err), Remedy: report.RemedyOf(err)}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
