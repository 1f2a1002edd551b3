package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"golang.org/x/term"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// face is how the agent speaks to who called it: text for a person, or one
// JSON document on standard output and the plain story on standard error.
type face struct {
	console
	json     bool
	sink     report.Sink
	text     *report.Text // nil where the story goes to a log
	recorder *report.Recorder
	told     bool // the failure was shown as that of a step
	printed  bool // the JSON document
}

func newFace(io console, c common) *face {
	f := &face{console: io, json: c.output == "json", recorder: &report.Recorder{}}
	story := f.log(c)
	if story == nil {
		stream := io.out
		if f.json {
			stream = io.err
		}
		f.text = text(stream)
		f.text.Verbose = c.verbose
		story = f.text
	}
	f.err = report.Escaped{W: f.err}
	if !f.json {
		f.out = report.Escaped{W: f.out}
	}
	f.sink = report.Sinks{story, f.recorder, report.Notify{}}
	return f
}

// log is where the story goes when it is not for a person; nil when it is.
func (f *face) log(c common) report.Sink {
	level := slog.LevelInfo
	if c.verbose {
		level = slog.LevelDebug
	}
	format := c.log
	if format == "auto" {
		format = "text"
		if isService() {
			format = "journal"
		}
	}
	switch format {
	case "json":
		return &report.Slog{Handler: slog.NewJSONHandler(f.err, &slog.HandlerOptions{Level: level})}
	case "journal":
		return &report.Slog{Handler: report.Journal{Level: level, Send: journal.Send}}
	}
	return nil
}

// isService tells whether systemd has connected standard error to the journal,
// and the journal is there. A program below a service, with an output of its
// own, has the variable too.
func isService() bool {
	connected, err := journal.StderrIsJournalStream()
	return err == nil && connected && journal.Enabled()
}

func text(stream io.Writer) *report.Text {
	text := &report.Text{W: stream}
	file, isFile := stream.(*os.File)
	if isFile && term.IsTerminal(int(file.Fd())) {
		text.Width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return width
		}
		text.Live = os.Getenv("TERM") != "dumb"
		text.Color = text.Live && os.Getenv("NO_COLOR") == ""
	}
	return text
}

// quiet takes what is rewritten off the terminal.
func (f *face) quiet() {
	if f.text != nil {
		f.text.Stop()
	}
}

// document prints a JSON document, or what say prints for a person.
func (f *face) document(document any, say func(w io.Writer)) error {
	f.quiet()
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
	f.quiet()
	if err == nil || f.told {
		return
	}
	if f.text == nil {
		f.sink.Emit(report.Event{Time: time.Now(), Kind: report.Ended, Message: verb + ": " + err.Error(), Remedy: report.RemedyOf(err)})
		return
	}
	fmt.Fprintf(f.err, "hcp-node-agent %s: %v\n", verb, err)
	for _, line := range report.Remedy(report.RemedyOf(err)).Lines() {
		fmt.Fprintln(f.err, line)
	}
}

// result is what every document of a run ends with.
type result struct {
	ExitCode report.Code   `json:"exitCode"`
	Error    string        `json:"error,omitempty"`
	Remedy   report.Remedy `json:"remedy,omitempty"`
}

func resultOf(err error) result {
	r := result{ExitCode: report.CodeOf(err), Remedy: report.Remedy(report.RemedyOf(err))}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
