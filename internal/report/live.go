// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"
)

// liveLine is the line of the running step, which is rewritten once a second. It shows the
// awaited condition, the time until the next attempt, and the elapsed time of the step.
type liveLine struct {
	step  string // "" if no step is running
	since time.Time
	wait  Event         // what the step waits for
	stop  chan struct{} // stops the clock

	block   []string // lines above the line: what an administrator must do
	drawn   int      // lines of block on the screen
	columns int      // columns of the line on the screen
}

// beginLine starts the line of a step, and the clock that rewrites it.
func (t *Terminal) beginLine(step string) {
	t.endLine()
	t.line = liveLine{step: step, since: time.Now(), stop: make(chan struct{})}
	go t.clock(t.line.stop)
}

// endLine stops the clock.
func (t *Terminal) endLine() {
	if t.line.stop != nil {
		close(t.line.stop)
	}
	t.line = liveLine{}
}

// beginWait shows what the step waits for. With a remedy, the complete message and the remedy are
// shown above the line until the wait ends.
func (t *Terminal) beginWait(event Event) {
	if t.line.step != event.Step {
		t.beginLine(event.Step) // waiting before a step starts, as in plan
	}
	t.line.wait, t.line.block = event, nil
	if event.Remedy == "" {
		return
	}
	t.printPending()
	var block strings.Builder
	page := t.page(&block)
	page.Item("    ", event.Message)
	page.Printf("\n")
	page.Remedy(event.Remedy)
	t.line.block = strings.Split(block.String(), "\n")
}

// Stop removes the live line from the screen, so that other output can be written.
func (t *Terminal) Stop() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.eraseClock()
	t.endLine()
	t.printPending()
}

func (t *Terminal) clock(stop chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			t.mutex.Lock()
			if t.line.stop == stop { // otherwise the line has ended in the meantime
				t.eraseClock()
				t.drawClock()
			}
			t.mutex.Unlock()
		}
	}
}

// drawLine prints the block and the line of the running step.
func (t *Terminal) drawLine() {
	if t.line.step == "" {
		return
	}
	for _, line := range t.line.block {
		t.printLine(line)
	}
	t.line.drawn = len(t.line.block)
	t.drawClock()
}

// drawClock prints the line of the running step. It is always narrower than the terminal, because a
// full line would move the cursor to the next line.
func (t *Terminal) drawClock() {
	color, message := "", ""
	if t.line.wait.Message != "" {
		color = yellow
	}
	if len(t.line.block) == 0 {
		message = t.line.wait.Message
	}
	now := time.Now()
	elapsed := formatElapsed(now.Sub(t.line.since))
	tail := elapsed
	if left := t.line.wait.RetryAt.Sub(now).Round(time.Second); left > 0 {
		tail = fmt.Sprintf("retry in %s  %s", formatElapsed(left), elapsed)
	}
	label := t.label(t.Symbols.running, "") + fmt.Sprintf("%-*s ", stepWidth, t.line.step)
	width := min(t.width()-1, timeColumn)
	room := width - displayWidth(label)
	if room-len(tail) < 20 && message != "" { // prefer the message over the retry time
		tail = elapsed
	}
	text := t.truncate(label, width)
	if room >= len(tail) {
		text = fmt.Sprintf("%s%-*s%s", label, room-len(tail), t.truncate(message, room-len(tail)-2), tail)
	}
	t.line.columns = displayWidth(text)
	if painted := t.page(nil).paint(color, t.Symbols.running); len(text) >= len(label) {
		text = strings.Replace(text, t.Symbols.running, painted, 1)
	}
	fmt.Fprint(t.W, text)
}

// eraseClock removes the line of the running step from the screen. If the terminal has become
// narrower, most terminals have wrapped the line into several rows.
func (t *Terminal) eraseClock() {
	if t.line.columns == 0 {
		return
	}
	t.eraseRows((t.line.columns - 1) / t.width())
	t.line.columns = 0
}

// eraseLine removes the block and the line of the running step from the screen, unless parts of them
// are above the visible rows.
func (t *Terminal) eraseLine() {
	t.eraseClock()
	width, height := t.size()
	rows := 0
	for _, line := range t.line.block[:t.line.drawn] {
		rows += max(1, (displayWidth(line)+width-1)/width)
	}
	if rows > 0 && rows < height {
		t.eraseRows(rows)
	}
	t.line.drawn = 0
}

// eraseRows erases the row of the cursor and n rows above it.
func (t *Terminal) eraseRows(n int) {
	if n > 0 {
		fmt.Fprintf(t.W, "\x1b[%dA", n)
	}
	fmt.Fprint(t.W, "\r\x1b[J")
}

// truncate truncates a text to width columns and marks the truncation.
func (t *Terminal) truncate(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	end := []rune(t.Symbols.ellipsis)
	if width < len(end) {
		return ""
	}
	return string(runes[:width-len(end)]) + string(end)
}

// formatElapsed formats a duration as 0:05 or 1:02:03.
func formatElapsed(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	if hours := seconds / 3600; hours > 0 {
		return fmt.Sprintf("%d:%02d:%02d", hours, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
