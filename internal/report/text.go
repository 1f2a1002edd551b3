package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Text is a Sink that prints events for people. On a terminal it rewrites the line of the
// running step. In a pipe every event is one plain line.
type Text struct {
	W       io.Writer
	Live    bool // a terminal: waiting messages are rewritten in place
	Color   bool
	Verbose bool       // print details
	Width   func() int // columns of the terminal; nil means 80

	mutex sync.Mutex // the clock draws concurrently
	line  liveLine
	last  string // last waiting message, printed once
}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

const (
	stepWidth     = len("serving-certificate")             // columns of the names of steps
	messageColumn = len("  start ") + stepWidth + len(" ") // column of messages and their continuation lines
)

// Emit prints one event.
func (t *Text) Emit(event Event) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.eraseLine()
	event.Step, event.Message, event.Remedy = Escape(event.Step), Escape(event.Message), Remedy(Escape(string(event.Remedy)))
	switch event.Kind {
	case Headline:
		headline := []string{event.Message}
		if t.Live {
			headline = wrap(event.Message, t.width()-1)
		}
		t.printLine(strings.Join(headline, "\n") + "\n")
	case StepStarted:
		t.beginLine(event)
	case Waiting:
		t.printWait(event)
	case Note:
		t.printLabeled("note", "", event.Message)
	case Detail:
		if t.Verbose {
			t.printLabeled("detail", "", event.Message)
		}
	case Warning, CommandFailed:
		t.printLabeled("warning", yellow, event.Message)
		t.printRemedy(event.Remedy)
	case StepDone, StepUnchanged, StepSkipped:
		t.endLine()
		t.printDone(event)
	case StepFailed:
		t.endLine()
		t.printStep(event, red, event.Message)
		t.printRemedy(event.Remedy)
	}
	t.drawLine()
}

// printWait prints each waiting message once. On a terminal it updates the live line, and prints
// messages with a remedy above it.
func (t *Text) printWait(event Event) {
	if t.Live && t.line.step != event.Step {
		t.beginLine(event) // waiting before a step starts, as in plan
	}
	t.line.next = event.RetryAt
	if event.Message == t.last {
		return
	}
	t.last, t.line.message = event.Message, event.Message
	if !t.Live || event.Remedy != "" {
		t.line.message = ""
		t.printStep(event, yellow, event.Message)
		t.printRemedy(event.Remedy)
	}
}

// printDone prints the line of a successful step, which ends with the elapsed time.
func (t *Text) printDone(event Event) {
	took := fmt.Sprintf("%.1fs", event.Elapsed.Seconds())
	const usual = 52 // columns of a message
	width := t.width() - 1
	if room := width - messageColumn; t.Live && room < usual+len("  999.9s") {
		at := max(room-len(took), displayWidth(event.Message)+1)
		t.printStep(event, green, fmt.Sprintf("%-*s%s", at, event.Message, took))
		return
	}
	t.printStep(event, green, fmt.Sprintf("%-*s %7s", usual, event.Message, took))
}

// printStep prints the line of a step.
func (t *Text) printStep(event Event, color, message string) {
	t.printHanging(fmt.Sprintf("  %s %-*s ", t.colorize(color, fmt.Sprintf("%-5s", event.Kind)), stepWidth, event.Step), message)
}

// printLabeled prints a labeled message that is not the result of a step.
func (t *Text) printLabeled(label, color, message string) {
	t.printHanging(strings.Repeat(" ", 10)+t.colorize(color, label)+strings.Repeat(" ", messageColumn-10-len(label)), message)
}

// printRemedy prints a remedy at column 0, for copying. Commands are not wrapped.
func (t *Text) printRemedy(remedy Remedy) {
	for _, line := range remedy.Lines() {
		note, isNote := strings.CutPrefix(line, "# ")
		if !isNote || !t.Live {
			t.printLine(line)
			continue
		}
		for _, part := range wrap(note, t.width()-3) {
			t.printLine("# " + part)
		}
	}
}

// printHanging prints a message after a label. On a terminal, a long message is wrapped, or printed
// below the label if the terminal is narrow. In a pipe it remains one line.
func (t *Text) printHanging(label, message string) {
	indent := t.indent()
	lines := []string{message}
	if t.Live && displayWidth(message) > t.width()-1-messageColumn {
		lines = wrap(message, t.width()-1-indent)
		if indent < messageColumn {
			t.printLine(label)
			label = strings.Repeat(" ", indent)
		}
	}
	for _, line := range lines {
		t.printLine(label + line)
		label = strings.Repeat(" ", indent)
	}
}

// indent returns the indentation of continuation lines in columns.
func (t *Text) indent() int {
	if t.Live && t.width() < 72 {
		return 4
	}
	return messageColumn
}

func (t *Text) printLine(text string) { fmt.Fprintln(t.W, strings.TrimRight(text, " ")) }

func (t *Text) colorize(color, text string) string {
	if !t.Color || color == "" {
		return text
	}
	return color + text + reset
}

// Columns returns the terminal's width in columns, or 0 in a pipe.
func (t *Text) Columns() int { return t.width() }

// width returns the terminal's width in columns, or 0 in a pipe.
func (t *Text) width() int {
	if !t.Live {
		return 0
	}
	if t.Width != nil {
		if width := t.Width(); width > 0 {
			return width
		}
	}
	return 80
}
