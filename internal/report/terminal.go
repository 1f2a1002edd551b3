// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Terminal is a Sink for a terminal. It prints one line for each step, followed by the warnings of
// the step. The line of the running step is rewritten, and what a step waits for is removed when
// the wait ends.
type Terminal struct {
	W       io.Writer
	Symbols Symbols
	Color   bool
	Verbose bool                       // print details, and complete fingerprints
	Size    func() (width, height int) // of the terminal; nil means 80 columns and 24 rows

	mutex   sync.Mutex // the clock draws concurrently
	line    liveLine
	pending []Event // notes and warnings of the running step
	begun   bool    // the first headline was printed
}

// Symbols are the marks in front of steps and messages.
type Symbols struct {
	done, skipped, failed, running, warning, note, ellipsis string
}

// Unicode returns the symbols for terminals with UTF-8.
func Unicode() Symbols {
	return Symbols{done: "✓", skipped: "-", failed: "✗", running: "…", warning: "!", note: "·", ellipsis: "…"}
}

// ASCII returns the symbols for other terminals.
func ASCII() Symbols {
	return Symbols{done: "ok", skipped: "--", failed: "XX", running: "..", warning: "!", note: "-", ellipsis: "..."}
}

const (
	stepWidth  = len("serving-certificate") // columns of the names of steps
	timeColumn = 100                        // maximum column where the elapsed time of a step ends
)

// Emit prints one event. The command itself prints its failure.
func (t *Terminal) Emit(event Event) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	event.Step, event.Message, event.Remedy = Escape(event.Step), Escape(event.Message),
		Remedy(Escape(string(event.Remedy)))
	if !t.Verbose {
		event.Message = t.abbreviate(event.Message)
	}
	if event.Kind == Waiting && event.Message == t.line.wait.Message && event.Step == t.line.step {
		t.line.wait.RetryAt = event.RetryAt
		return
	}
	t.eraseLine()
	switch event.Kind {
	case Headline:
		t.printPending()
		t.printHeadline(event.Message)
	case StepStarted:
		t.printPending()
		t.beginLine(event.Step)
	case Waiting:
		t.beginWait(event)
	case Note, Warning:
		t.pending = append(t.pending, event)
		if t.line.step == "" {
			t.printPending()
		}
	case Detail:
		if t.Verbose {
			t.printMessage(event)
		}
	case StepDone, StepUnchanged, StepSkipped, StepFailed:
		t.endLine()
		if len(event.Causes) > 0 {
			event.Message, event.Remedy = countCauses(event.Message, event.Causes), ""
		}
		t.printStep(event)
		t.printPending()
		t.page(t.W).Problems(event.Causes)
		t.page(t.W).Remedy(event.Remedy)
	}
	t.drawLine()
}

// printHeadline prints a sentence about the run, separated from the steps by an empty line.
func (t *Terminal) printHeadline(text string) {
	if t.begun {
		fmt.Fprintln(t.W)
	}
	t.page(t.W).Item("", text)
	if !t.begun {
		fmt.Fprintln(t.W)
	}
	t.begun = true
}

// printPending prints the notes and warnings of the running step.
func (t *Terminal) printPending() {
	for _, event := range t.pending {
		t.printMessage(event)
		t.page(t.W).Remedy(event.Remedy)
	}
	t.pending = nil
}

// printStep prints the line of a step that has ended: its result, and the elapsed time at the
// right.
func (t *Terminal) printStep(event Event) {
	symbol, color := t.Symbols.done, green
	switch event.Kind {
	case StepSkipped:
		symbol, color = t.Symbols.skipped, ""
	case StepFailed:
		symbol, color = t.Symbols.failed, red
	}
	label := t.label(symbol, color) + fmt.Sprintf("%-*s ", stepWidth, event.Step)
	elapsed := ""
	if event.Kind != StepSkipped {
		elapsed = formatSeconds(event.Elapsed)
	}
	indent, room := t.messageColumn(), min(t.width()-1, timeColumn)-len("  999.9s")
	if t.isNarrow() {
		t.printLine(label)
		label = strings.Repeat(" ", indent)
	}
	for i, line := range wrapHanging("", "", event.Message, room-indent) {
		if i == 0 && elapsed != "" {
			line += strings.Repeat(" ", max(1, room+len("  999.9s")-indent-displayWidth(line)-len(elapsed))) + elapsed
		}
		t.printLine(label + line)
		label = strings.Repeat(" ", indent)
	}
}

// printMessage prints a message that belongs to a step.
func (t *Terminal) printMessage(event Event) {
	symbol, color := t.Symbols.note, ""
	if event.Kind == Warning {
		symbol, color = t.Symbols.warning, yellow
	}
	page := t.page(t.W)
	page.Item("      "+page.paint(color, symbol)+" ", event.Message)
}

// page returns a page with the width and colors of the terminal that writes to w.
func (t *Terminal) page(w io.Writer) *Page {
	return &Page{Writer: w, Width: min(t.width()-1, timeColumn), Color: t.Color}
}

// label returns the beginning of a line: two spaces and a symbol.
func (t *Terminal) label(symbol, color string) string {
	return "  " + t.page(nil).paint(color, symbol) + strings.Repeat(" ", t.symbolWidth()-displayWidth(symbol)+1)
}

func (t *Terminal) symbolWidth() int { return displayWidth(t.Symbols.done) }

// messageColumn returns the column of the messages of steps. On a narrow terminal they are below the
// name of the step.
func (t *Terminal) messageColumn() int {
	if t.isNarrow() {
		return 4
	}
	return len("  ") + t.symbolWidth() + len(" ") + stepWidth + len(" ")
}

func (t *Terminal) isNarrow() bool { return t.width() < 72 }

func (t *Terminal) printLine(text string) { fmt.Fprintln(t.W, strings.TrimRight(text, " ")) }

// width returns the terminal's width in columns.
func (t *Terminal) width() int {
	width, _ := t.size()
	return width
}

func (t *Terminal) size() (width, height int) {
	if t.Size != nil {
		if width, height = t.Size(); width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

var longHexadecimal = regexp.MustCompile(`\b([0-9a-f]{8})[0-9a-f]{24,}\b`)

// abbreviate abbreviates digests and fingerprints.
func (t *Terminal) abbreviate(message string) string {
	return longHexadecimal.ReplaceAllString(message, "$1"+t.Symbols.ellipsis)
}

// formatSeconds formats the duration of a step, such as 0.4s or 1m12s.
func formatSeconds(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
