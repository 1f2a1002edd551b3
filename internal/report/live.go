package report

import (
	"fmt"
	"time"
)

// liveLine is the line of the running step, which is rewritten once a second. It shows the
// awaited condition, the time until the next attempt, and the elapsed time of the step.
type liveLine struct {
	step    string // "" if no step is running
	message string
	since   time.Time
	next    time.Time
	stop    chan struct{} // stops the clock
	columns int           // columns on the screen
}

// beginLine starts the line of a step, and the clock that rewrites it.
func (t *Text) beginLine(event Event) {
	t.endLine()
	t.last = ""
	if !t.Live {
		return
	}
	t.line = liveLine{step: event.Step, since: time.Now(), stop: make(chan struct{})}
	go t.clock(t.line.stop)
}

// endLine stops the clock.
func (t *Text) endLine() {
	if t.line.stop != nil {
		close(t.line.stop)
	}
	t.line = liveLine{}
}

// Stop removes the live line from the screen, so that other output can be written.
func (t *Text) Stop() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.eraseLine()
	t.endLine()
}

func (t *Text) clock(stop chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			t.mutex.Lock()
			if t.line.stop == stop { // otherwise the line has ended in the meantime
				t.eraseLine()
				t.drawLine()
			}
			t.mutex.Unlock()
		}
	}
}

// drawLine prints the line. It is always narrower than the terminal, because a full line would
// move the cursor to the next line.
func (t *Text) drawLine() {
	if t.line.step == "" {
		return
	}
	label, color := "...  ", ""
	if t.last != "" {
		label, color = "wait ", yellow
	}
	painted := "  " + t.colorize(color, label)
	now := time.Now()
	head := fmt.Sprintf(" %-*s ", stepWidth, t.line.step)
	tail := formatElapsed(now.Sub(t.line.since))
	if left := t.line.next.Sub(now).Round(time.Second); left > 0 {
		tail = fmt.Sprintf("retry in %s  %s", formatElapsed(left), tail)
	}
	label = "  " + label + head
	width := t.width() - 1
	room := width - displayWidth(label)
	if room-len(tail) < 20 && t.line.message != "" { // prefer the message over the retry time
		tail = formatElapsed(now.Sub(t.line.since))
	}
	if room < len(tail) {
		label = truncate(label, width)
		fmt.Fprint(t.W, label)
		t.line.columns = displayWidth(label)
		return
	}
	message := truncate(t.line.message, room-len(tail)-2)
	const usual = 60 // column of the elapsed time of completed steps
	at := min(room, max(usual, displayWidth(message)+2+len(tail)))
	rest := fmt.Sprintf("%s%-*s%s", head, at-len(tail), message, tail)
	fmt.Fprint(t.W, painted+rest)
	t.line.columns = displayWidth(label) + at
}

// eraseLine removes the line from the screen. If the terminal has become narrower, most
// terminals have wrapped the line into several rows.
func (t *Text) eraseLine() {
	if t.line.columns == 0 {
		return
	}
	if rows := (t.line.columns - 1) / max(1, t.width()); rows > 0 {
		fmt.Fprintf(t.W, "\x1b[%dA", rows)
	}
	fmt.Fprint(t.W, "\r\x1b[J")
	t.line.columns = 0
}

// formatElapsed formats a duration as 0:05 or 1:02:03.
func formatElapsed(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	if hours := seconds / 3600; hours > 0 {
		return fmt.Sprintf("%d:%02d:%02d", hours, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
