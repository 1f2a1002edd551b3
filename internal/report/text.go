package report

import (
	"fmt"
	"io"
	"strings"
)

// Text shows events to a person: on a terminal the line of the running step is
// rewritten as it goes on, in a pipe every event is one plain line.
type Text struct {
	W     io.Writer
	Live  bool // a terminal: what is waited for is rewritten in place
	Color bool
	Width int // of the terminal, in columns; 0 means 80

	shown string // the live line, to be cleared
	last  string // the last waiting message, shown once
}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

// Emit shows one event.
func (t *Text) Emit(event Event) {
	switch event.Kind {
	case Headline:
		t.line(event.Message + "\n")
	case StepStarted:
		t.last = ""
		if t.Live {
			t.live(fmt.Sprintf("  %-5s %-11s", "...", event.Step))
		}
	case Waiting:
		t.wait(event)
	case Note:
		t.line(indent("note", event.Message))
	case Warning:
		t.line(indent(t.paint(yellow, "warning"), event.Message))
		t.remedy(event.Remedy)
	case StepDone, StepSame, StepSkipped:
		t.line(fmt.Sprintf("  %s %-11s %-60s %6.1fs", t.paint(green, pad(event.Kind)), event.Step, event.Message, event.Elapsed.Seconds()))
	case StepFailed:
		t.line(fmt.Sprintf("  %s %-11s %s", t.paint(red, pad(event.Kind)), event.Step, event.Message))
		t.remedy(event.Remedy)
	}
}

// wait shows what is waited for, once for each message; live it is the
// rewritten line, and only the first of a step also shows the remedy.
func (t *Text) wait(event Event) {
	if event.Message == t.last {
		return
	}
	if !t.Live || event.Remedy != "" {
		t.line(fmt.Sprintf("  %s %-11s %s", t.paint(yellow, pad(event.Kind)), event.Step, event.Message))
		t.remedy(event.Remedy)
	} else {
		t.live(fmt.Sprintf("  %-5s %-11s %s", event.Kind, event.Step, event.Message))
	}
	t.last = event.Message
}

func (t *Text) remedy(remedy string) {
	if remedy == "" {
		return
	}
	for line := range strings.SplitSeq(remedy, "\n") {
		t.line(strings.Repeat(" ", 20) + line)
	}
}

func indent(label, message string) string {
	return strings.Repeat(" ", 10) + label + "   " + message
}

func (t *Text) line(text string) {
	t.clear()
	fmt.Fprintln(t.W, strings.TrimRight(text, " "))
}

func (t *Text) live(text string) {
	t.clear()
	width := t.Width
	if width == 0 {
		width = 80
	}
	if runes := []rune(text); len(runes) >= width {
		text = string(runes[:width-1])
	}
	fmt.Fprint(t.W, text)
	t.shown = text
}

func (t *Text) clear() {
	if t.shown != "" {
		fmt.Fprint(t.W, "\r\x1b[K")
		t.shown = ""
	}
}

func (t *Text) paint(color, text string) string {
	if !t.Color {
		return text
	}
	return color + text + reset
}

func pad(kind Kind) string { return fmt.Sprintf("%-5s", kind) }
