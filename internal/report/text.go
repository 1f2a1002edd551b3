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

// column is the column of messages and their continuation lines.
const column = 20

// Emit prints one event.
func (t *Text) Emit(event Event) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.erase()
	event.Step, event.Message, event.Remedy = Escape(event.Step), Escape(event.Message), Escape(event.Remedy)
	switch event.Kind {
	case Headline:
		headline := []string{event.Message}
		if t.Live {
			headline = wrap(event.Message, t.width()-1)
		}
		t.plain(strings.Join(headline, "\n") + "\n")
	case StepStarted:
		t.begin(event)
	case Waiting:
		t.wait(event)
	case Note:
		t.beside("note", "", event.Message)
	case Detail:
		if t.Verbose {
			t.beside("detail", "", event.Message)
		}
	case Warning, Ended:
		t.beside("warning", yellow, event.Message)
		t.remedy(event.Remedy)
	case StepDone, StepSame, StepSkipped:
		t.end()
		t.done(event)
	case StepFailed:
		t.end()
		t.story(event, red, event.Message)
		t.remedy(event.Remedy)
	}
	t.draw()
}

// wait prints each waiting message once. On a terminal it updates the live line, and prints
// messages with a remedy above it.
func (t *Text) wait(event Event) {
	if t.Live && t.line.step != event.Step {
		t.begin(event) // waiting before a step starts, as in plan
	}
	t.line.next = event.Next
	if event.Message == t.last {
		return
	}
	t.last, t.line.message = event.Message, event.Message
	if !t.Live || event.Remedy != "" {
		t.line.message = ""
		t.story(event, yellow, event.Message)
		t.remedy(event.Remedy)
	}
}

// done prints the line of a successful step, which ends with the elapsed time.
func (t *Text) done(event Event) {
	took := fmt.Sprintf("%.1fs", event.Elapsed.Seconds())
	const usual = 60 // columns of a message
	width := t.width() - 1
	if room := width - column; t.Live && room < usual+len("  999.9s") {
		at := max(room-len(took), cells(event.Message)+1)
		t.story(event, green, fmt.Sprintf("%-*s%s", at, event.Message, took))
		return
	}
	t.story(event, green, fmt.Sprintf("%-*s %7s", usual, event.Message, took))
}

// story prints the line of a step.
func (t *Text) story(event Event, color, message string) {
	t.hang(fmt.Sprintf("  %s %-11s ", t.paint(color, fmt.Sprintf("%-5s", event.Kind)), event.Step), message)
}

// beside prints a labeled message that is not the result of a step.
func (t *Text) beside(label, color, message string) {
	t.hang(strings.Repeat(" ", 10)+t.paint(color, label)+strings.Repeat(" ", column-10-len(label)), message)
}

// remedy prints a remedy at column 0, for copying. Commands are not wrapped.
func (t *Text) remedy(remedy string) {
	for _, line := range Remedy(remedy).Lines() {
		note, isNote := strings.CutPrefix(line, "# ")
		if !isNote || !t.Live {
			t.plain(line)
			continue
		}
		for _, part := range wrap(note, t.width()-3) {
			t.plain("# " + part)
		}
	}
}

// hang prints a message after a label. On a terminal, a long message is wrapped, or printed
// below the label if the terminal is narrow. In a pipe it remains one line.
func (t *Text) hang(label, message string) {
	indent := t.indent()
	lines := []string{message}
	if t.Live && cells(message) > t.width()-1-column {
		lines = wrap(message, t.width()-1-indent)
		if indent < column {
			t.plain(label)
			label = strings.Repeat(" ", indent)
		}
	}
	for _, line := range lines {
		t.plain(label + line)
		label = strings.Repeat(" ", indent)
	}
}

// indent returns the indentation of continuation lines in columns.
func (t *Text) indent() int {
	if t.Live && t.width() < 72 {
		return 4
	}
	return column
}

func (t *Text) plain(text string) { fmt.Fprintln(t.W, strings.TrimRight(text, " ")) }

func (t *Text) paint(color, text string) string {
	if !t.Color || color == "" {
		return text
	}
	return color + text + reset
}

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
