package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// printer writes the output of one command: text, or one JSON document on standard
// output with the progress as text on standard error.
type printer struct {
	ioStreams
	output, logFormat *string // flags
	verbose           *bool   // flag

	json         bool
	sink         report.Sink  // nil until the command line is parsed
	text         *report.Text // nil if progress goes to a log
	recorder     *report.Recorder
	stepReported bool // the failure was already printed for a step
	printed      bool // the JSON document was printed
}

// bindFlags binds the flags that all commands have.
func (p *printer) bindFlags(root *cobra.Command) {
	p.output = enumFlag(root, "output", "o", "output `FORMAT`: text or json", "text", "json")
	p.logFormat = enumFlag(root, "log-format", "", "`FORMAT` of the progress: text, json, or journal for the systemd "+
		"journal with fields; auto is journal for a service, else text", "auto", "text", "json", "journal")
	p.verbose = root.PersistentFlags().BoolP("verbose", "v", false, "also print every change to the host")
	root.PersistentPreRun = func(*cobra.Command, []string) { p.open() }
}

// open prepares the printer for the formats that were requested.
func (p *printer) open() {
	p.json, p.recorder = *p.output == "json", &report.Recorder{}
	progress := p.log()
	if progress == nil {
		stream := p.out
		if p.json {
			stream = p.err
		}
		p.text = newText(stream)
		p.text.Verbose = *p.verbose
		progress = p.text
	}
	p.err = report.EscapeWriter{W: p.err}
	if !p.json {
		p.out = report.EscapeWriter{W: p.out}
	}
	p.sink = report.Sinks{progress, p.recorder, report.SystemdNotifier{}}
}

// log returns the log that progress goes to; nil if progress is printed as text.
func (p *printer) log() report.Sink {
	level := slog.LevelInfo
	if *p.verbose {
		level = slog.LevelDebug
	}
	format := *p.logFormat
	if format == "auto" && isService() {
		format = "journal"
	}
	switch format {
	case "json":
		return &report.Slog{Handler: slog.NewJSONHandler(p.err, &slog.HandlerOptions{Level: level})}
	case "journal":
		return &report.Slog{Handler: report.Journal{Level: level, Send: journal.Send}}
	}
	return nil
}

// isService reports whether standard error is connected to the journal. The environment variable
// alone is not sufficient: a child of a service inherits it, even with other output.
func isService() bool {
	connected, err := journal.StderrIsJournalStream()
	return err == nil && connected && journal.Enabled()
}

func newText(stream io.Writer) *report.Text {
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

// stopRewriting ends the line that is updated in place on a terminal.
func (p *printer) stopRewriting() {
	if p.text != nil {
		p.text.Stop()
	}
}

// document prints a JSON document, or its text with print.
func (p *printer) document(document any, print func(io.Writer)) error {
	p.stopRewriting()
	if p.json {
		p.printed = true
		return report.WriteJSON(p.out, document)
	}
	print(p.out)
	return nil
}

// finish prints the document of a command that ended with err. Text is printed only if err is
// nil. finish returns err, or the error of printing.
func (p *printer) finish(err error, document any, print func(io.Writer)) error {
	if err != nil && !p.json {
		return err
	}
	if writeErr := p.document(document, print); err == nil {
		return writeErr
	}
	return err
}

// failureDocument is printed if a command fails without another document.
type failureDocument struct {
	report.TypeMeta
	result
}

// failure prints the error of a command unless it was already printed.
func (p *printer) failure(path string, err error) {
	if err != nil && p.json && !p.printed {
		// The error is also printed below.
		_ = p.document(failureDocument{TypeMeta: report.Meta("Failure"), result: resultOf(err)}, nil)
	}
	p.stopRewriting()
	if err == nil || p.stepReported {
		return
	}
	if p.text == nil {
		message := strings.TrimPrefix(path, programName+" ") + ": " + err.Error()
		p.sink.Emit(report.Event{Time: time.Now(), Kind: report.CommandFailed, Message: message, Remedy: report.RemedyOf(err)})
		return
	}
	fmt.Fprintf(p.err, "%s: %v\n", path, err)
	for _, line := range report.Remedy(report.RemedyOf(err)).Lines() {
		fmt.Fprintln(p.err, line)
	}
}

// result contains the last fields of every document.
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
