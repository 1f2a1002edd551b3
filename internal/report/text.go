package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Text shows events to a person: on a terminal the line of the running step is
// rewritten as it goes on, in a pipe every event is one plain line.
type Text struct {
	W       io.Writer
	Live    bool // a terminal: what is waited for is rewritten in place
	Color   bool
	Verbose bool       // show details, too
	Width   func() int // of the terminal now, in columns; nil: 80

	mutex sync.Mutex // the clock draws, too
	line  liveLine
	last  string // the last waiting message, shown once
}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

// column is where messages begin, and what continues them.
const column = 20

// Emit shows one event.
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

// wait shows what is waited for, once for each message; live it is the
// rewritten line, and what somebody has to do for it stays above.
func (t *Text) wait(event Event) {
	if t.Live && t.line.step != event.Step {
		t.begin(event) // it waits before it is a step, as plan does
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

// done is the line of a step that has ended well, with the time that it took at
// its end.
func (t *Text) done(event Event) {
	took := fmt.Sprintf("%.1fs", event.Elapsed.Seconds())
	const usual = 60 // letters of a message
	width := t.width() - 1
	if room := width - column; t.Live && room < usual+len("  999.9s") {
		at := max(room-len(took), cells(event.Message)+1)
		t.story(event, green, fmt.Sprintf("%-*s%s", at, event.Message, took))
		return
	}
	t.story(event, green, fmt.Sprintf("%-*s %7s", usual, event.Message, took))
}

// story is a line about a step.
func (t *Text) story(event Event, color, message string) {
	t.hang(fmt.Sprintf("  %s %-11s ", t.paint(color, fmt.Sprintf("%-5s", event.Kind)), event.Step), message)
}

// beside is what is said beside the story.
func (t *Text) beside(label, color, message string) {
	t.hang(strings.Repeat(" ", 10)+t.paint(color, label)+strings.Repeat(" ", column-10-len(label)), message)
}

// remedy prints what to do at the left edge, to be copied; commands are not
// broken into lines.
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

// hang shows a message behind a label. On a terminal it is broken where it would
// go over the end of the line, or stands below the label where there is not much
// room beside it; in a pipe it stays one line.
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

// indent is how far from the left stands what continues a message.
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

// width is the terminal's; 0 in a pipe.
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
