package cli

import (
	"bufio"
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

// Printer writes the output of one command: text, or one JSON document on standard
// output with the progress as text on standard error.
type Printer struct {
	Streams
	Program      Program
	JSON         bool
	Sink         report.Sink // nil until the command line is parsed
	Recorder     *report.Recorder
	StepReported bool // the failure was already printed for a step
	Printed      bool // the JSON document was printed
	OneLine      bool // a JSON document is one line, because the command prints several documents

	output, logFormat *string      // flags
	verbose           *bool        // flag
	text              *report.Text // nil if progress goes to a log
}

// BindFlags binds the flags that all commands have.
func (p *Printer) BindFlags(root *cobra.Command) {
	p.output = EnumFlag(root, "output", "o", "output `FORMAT`: text or json", "text", "json")
	p.logFormat = EnumFlag(root, "log-format", "", "`FORMAT` of the log: auto, text, json, or journal for the systemd journal with fields; auto is journal for a service, else text", "auto", "text", "json", "journal")
	p.verbose = root.PersistentFlags().BoolP("verbose", "v", false, p.Program.Verbose)
	root.PersistentPreRun = func(*cobra.Command, []string) { p.Open() }
}

// Open prepares the printer for the formats that were requested.
func (p *Printer) Open() {
	p.JSON, p.Recorder = *p.output == "json", &report.Recorder{}
	progress := p.log()
	if progress == nil {
		stream := p.Out
		if p.JSON {
			stream = p.Err
		}
		p.text = newText(stream)
		p.text.Verbose = *p.verbose
		progress = p.text
	}
	p.Err = report.EscapeWriter{W: p.Err}
	if !p.JSON {
		p.Out = report.EscapeWriter{W: p.Out}
	}
	p.Sink = report.Sinks{progress, p.Recorder, report.SystemdNotifier{}}
}

// Verbose reports whether details were requested.
func (p *Printer) Verbose() bool { return *p.verbose }

// Width returns the columns of the terminal that the output is printed on, 0 for a pipe.
func (p *Printer) Width() int {
	if p.text == nil || p.JSON {
		return 0
	}
	return p.text.Columns()
}

// log returns the log that progress goes to; nil if progress is printed as text.
func (p *Printer) log() report.Sink {
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
		return &report.Slog{Handler: slog.NewJSONHandler(p.Err, &slog.HandlerOptions{Level: level})}
	case "journal":
		return &report.Slog{Handler: report.Journal{Level: level, Identifier: p.Program.Name, Send: journal.Send}}
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

// Confirm prints a yes-no question on a terminal and reports whether the answer is yes. If standard
// input is no terminal, it prints nothing and returns true.
func (p *Printer) Confirm(question string) bool {
	file, isFile := p.In.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return true
	}
	fmt.Fprintf(p.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(file).ReadString('\n') // the end of the input is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// stopRewriting ends the line that is updated in place on a terminal.
func (p *Printer) stopRewriting() {
	if p.text != nil {
		p.text.Stop()
	}
}

// Document prints a JSON document, or its text with print.
func (p *Printer) Document(document any, print func(io.Writer)) error {
	p.stopRewriting()
	if p.JSON {
		p.Printed = true
		return p.writeJSON(document)
	}
	print(p.Out)
	return nil
}

func (p *Printer) writeJSON(document any) error {
	if p.OneLine {
		return report.WriteJSONLine(p.Out, document)
	}
	return report.WriteJSON(p.Out, document)
}

// Finish prints the document of a command that has a result although it ended with err. Text is
// printed only if err is nil. Finish returns err, or the error of printing. A command that failed
// without a result returns its error instead, and Failure prints the document.
func (p *Printer) Finish(err error, document any, print func(io.Writer)) error {
	if err != nil && !p.JSON {
		return err
	}
	if writeErr := p.Document(document, print); err == nil {
		return writeErr
	}
	return err
}

// Event prints a JSON document that is one of many, or its text.
func (p *Printer) Event(document any, text string) error {
	if p.JSON {
		return report.WriteJSONLine(p.Out, document)
	}
	_, err := fmt.Fprintln(p.Out, text)
	return err
}

// Failure prints the error of a command unless it was already printed. The JSON document is of kind
// Failure unless the command has printed its own.
func (p *Printer) Failure(path string, err error) {
	if err != nil && p.JSON && !p.Printed {
		// The error is also printed below.
		_ = p.Document(FailureDocument{TypeMeta: report.Meta("Failure"), CommandResult: report.ResultOf(err)}, nil)
	}
	p.stopRewriting()
	if err == nil || p.StepReported {
		return
	}
	if p.text == nil {
		message := strings.TrimPrefix(path, p.Program.Name+" ") + ": " + err.Error()
		p.Sink.Emit(report.Event{
			Time:    time.Now(),
			Kind:    report.CommandFailed,
			Message: message,
			Remedy:  report.RemedyOf(err),
		})
		return
	}
	fmt.Fprintf(p.Err, "%s: %v\n", path, err)
	for _, line := range report.RemedyOf(err).Lines() {
		fmt.Fprintln(p.Err, line)
	}
}
