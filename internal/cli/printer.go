// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Printer writes the output of one command: text, or one JSON document on standard
// output with the progress as text on standard error.
type Printer struct {
	Streams
	Program      Program
	JSON         bool
	Sink         report.Sink // nil until the command line is parsed
	Recorder     report.Recorder
	StepReported bool // the failure was already printed as part of the output
	Printed      bool // the JSON document was printed
	OneLine      bool // a JSON document is one line, because the command prints several documents

	output, logFormat, color *string // flags
	verbose                  *int    // flag
	quiet                    *bool   // flag

	progress progressSink
	page     *report.Page
}

// BindFlags binds the flags that all commands have.
func (p *Printer) BindFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	p.output = EnumFlag(root, "output", "o", "output `FORMAT`: text or json", "text", "json")
	p.color = EnumFlag(root, "color", "", "use colors `WHEN`: auto, always or never; auto is on a terminal", "auto",
		"always", "never")
	p.logFormat = EnumFlag(root, "log-format", "",
		"`FORMAT` of the log: auto, text, json, or journal for the systemd journal with fields; auto is journal for a "+
			"service, else text", "auto", "text", "json", "journal")
	// The empty pair of backquotes removes the placeholder "count".
	p.verbose = flags.CountP("verbose", "v", "``"+p.Program.Verbose+"; -vv also every request to the API server")
	p.quiet = flags.BoolP("quiet", "q", false, "print no progress except warnings and errors")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := c.ValidateFlagGroups(); err != nil { // cobra itself would report it after Open, as a failure
			return err
		}
		*p.output = c.Flag("output").Value.String() // of BindOutput, if the command has it
		p.Open()
		return nil
	}
}

// BindOutput binds --output of a command that has more formats than the others. A format other than text and wide is
// for programs: the command writes it to Out, without escapes.
func (p *Printer) BindOutput(c *cobra.Command, usage string, formats ...string) *string {
	return EnumFlag(c, "output", "o", usage, formats...)
}

// Open prepares the printer for the formats that were requested.
func (p *Printer) Open() {
	p.JSON = *p.output == "json"
	p.progress = p.openProgress()
	p.page = p.newPage(p.Out)
	p.Err = p.newPage(p.Err)
	if p.isText() {
		p.Out = p.page
	}
	p.Sink = report.Sinks{p.progress, &p.Recorder, report.SystemdNotifier{}}
	if *p.verbose > 1 {
		logRequests(p.Err)
	}
}

// isText reports whether the output is for people.
func (p *Printer) isText() bool { return *p.output == "text" || *p.output == "wide" }

// newPage returns a page on stream.
func (p *Printer) newPage(stream io.Writer) *report.Page {
	const maxWidth = 120
	width, _ := terminalSize(stream)
	colors := p.hasColors(stream)
	return &report.Page{
		Writer:  report.EscapeWriter{W: stream, Colors: colors},
		Width:   min(width, maxWidth),
		Color:   colors,
		Verbose: *p.verbose > 0,
	}
}

// Quiet reports whether no progress is printed.
func (p *Printer) Quiet() bool { return *p.quiet }

// IsTerminal reports whether the output is on a terminal, so that a person probably awaits it. It is false
// before Open.
func (p *Printer) IsTerminal() bool { return p.page != nil && p.page.Width > 0 }

// hasColors reports whether output to stream has colors.
func (p *Printer) hasColors(stream io.Writer) bool {
	if *p.color == "auto" {
		return isTerminal(stream) && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	}
	return *p.color == "always"
}

func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// terminalSize returns the columns and rows of a terminal, or 0 if stream is none.
func terminalSize(stream io.Writer) (width, height int) {
	if file, isFile := stream.(*os.File); isFile {
		width, height, _ = term.GetSize(int(file.Fd())) // 0 after an error
	}
	return width, height
}

// isUTF8 reports whether the locale's encoding is UTF-8 (locale(7)).
func isUTF8() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// logRequests makes client-go log its requests, without their headers and bodies, to w.
func logRequests(w io.Writer) {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	for name, value := range map[string]string{"v": "6", "logtostderr": "false", "stderrthreshold": "FATAL"} {
		_ = flags.Set(name, value) // cannot fail, because klog defines these flags
	}
	klog.ClearLogger()
	klog.SetOutput(w)
}

// Confirm prints a yes-no question on a terminal and reports whether the answer is yes. If standard
// input is no terminal, it prints nothing and returns true.
func (p *Printer) Confirm(question string) bool {
	if !isTerminal(p.In) {
		return true
	}
	fmt.Fprintf(p.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(p.In).ReadString('\n') // the end of the input is a no
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// stopRewriting ends the line that is updated in place on a terminal.
func (p *Printer) stopRewriting() {
	if p.progress != nil {
		p.progress.Stop()
	}
}

// pasteable returns a document with remedies in the form that users can paste. It changes those in slices of document.
func (p *Printer) pasteable(document any) any {
	if document == nil {
		return nil
	}
	copied := reflect.New(reflect.TypeOf(document)).Elem()
	copied.Set(reflect.ValueOf(document))
	report.ChangeRemedies(copied, p.Program.Remedy)
	return copied.Interface()
}

// Document prints a JSON document, or its text with print. The remedies in slices of the document are changed to the
// form that users can paste.
func (p *Printer) Document(document any, print func(*report.Page)) error {
	p.stopRewriting()
	document = p.pasteable(document)
	if p.JSON {
		p.Printed = true
		if p.OneLine {
			return report.WriteJSONLine(p.Out, document)
		}
		return report.WriteJSON(p.Out, document)
	}
	print(p.page)
	return nil
}

// Finish prints the document of a command that has a result although it ended with err. Text is
// printed only if err is nil. Finish returns err, or the error of printing. A command that failed
// without a result returns its error instead, and Failure prints the document.
func (p *Printer) Finish(err error, document any, print func(*report.Page)) error {
	if err != nil && !p.JSON {
		return err
	}
	return cmp.Or(err, p.Document(document, print))
}

// FinishPartly is Finish for a command that has a result up to the error: the text is printed also if err is not nil.
func (p *Printer) FinishPartly(err error, document any, print func(*report.Page)) error {
	if err != nil && !p.JSON {
		p.pasteable(document)
		print(&report.Page{Writer: p.Out})
	}
	return p.Finish(err, document, print)
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
// Failure unless the command has printed its own. The remedy of a usage error without another is
// the help of the command.
func (p *Printer) Failure(path string, err error) {
	if own := report.RemedyOf(err); own != p.Program.Remedy(own) {
		err = report.Fail(report.CodeOf(err), p.Program.Remedy(own), "%w", err)
	}
	causes := report.CausesOf(err) // those of the error, which are changed
	for i := range causes {
		causes[i].Remedy = p.Program.Remedy(causes[i].Remedy)
	}
	isUsage := report.CodeOf(err) == report.Usage && report.RemedyOf(err) == ""
	if isUsage {
		err = report.Fail(report.Usage, report.Remedy(path+" --help"), "%w", err)
	}
	if err != nil && p.JSON && !p.Printed {
		// The error is also printed below.
		_ = p.Document(FailureDocument{TypeMeta: report.Meta("Failure"), CommandResult: report.ResultOf(err)}, nil)
	}
	p.stopRewriting()
	if err == nil || p.StepReported || p.Recorder.StepFailed() {
		return
	}
	if p.Sink != nil && p.resolvedLogFormat() != "text" {
		message := strings.TrimPrefix(path, p.Program.command()+" ") + ": " + err.Error()
		report.Log{Sink: p.Sink}.Fail(message, report.RemedyOf(err))
		return
	}
	page, isOpen := p.Err.(*report.Page)
	if !isOpen { // the flags are invalid
		page = p.newPage(p.Err)
	}
	message := path + ": " + err.Error()
	if isUsage {
		page.Item("", message)
		page.Printf("see: %s\n", report.RemedyOf(err))
		return
	}
	page.Failure("", message, report.RemedyOf(err), report.CausesOf(err))
}
