// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Times of the picture in seconds. Longer recordings are shortened: first their pauses, then everything alike.
const (
	maxPause    = 0.5
	maxDuration = 20
	frame       = 0.1
)

// Sizes in pixels.
const (
	charWidth  = 8.43
	lineHeight = 19
	margin     = 14
)

const style = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d0d7de}` +
	`.c31,.c91{fill:#ff7b72}.c32,.c92{fill:#56d364}.c33,.c93{fill:#e3b341}.c34,.c94{fill:#79c0ff}` +
	`.c35,.c95{fill:#d2a8ff}.c36,.c96{fill:#76e3ea}.c30,.c90{fill:#8b949e}` +
	`.t{visibility:hidden}@keyframes s{from,to{visibility:visible}}@keyframes h{from,to{visibility:hidden}}` +
	`@media (prefers-reduced-motion:reduce){text{animation:none!important}}`

// A shownLine is the markup of a line on the screen since a time of the picture.
type shownLine struct {
	text  string
	since float64
}

// picture draws a recording as SVG. A line that changes later is shown for its time; a line of the
// final screen is hidden until its time. Without animations, the picture is the final screen without the omitted lines.
func picture(title string, events []event, isOmitted func(line string) bool) string {
	rowOf := pictureRows(events, isOmitted)
	var screen screen
	shown := make([]shownLine, rows)
	var body strings.Builder
	add := func(y int, attribute, text string) {
		y = rowOf[y]
		if y < 0 {
			return
		}
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", margin, margin+lineHeight*(y+1)-5, attribute, text)
	}
	times := pictureTimes(events)
	for i, now := range times {
		screen.write(events[i].text)
		if i+1 < len(times) && times[i+1] == now {
			continue // one frame
		}
		for y, before := range shown {
			text := screen.line(y)
			if text == before.text {
				continue
			}
			if before.text != "" {
				add(y, fmt.Sprintf(` class="t" style="animation:s %.1fs %.1fs"`, now-before.since, before.since), before.text)
			}
			shown[y] = shownLine{text, now}
		}
	}
	height := 0
	for y, line := range shown {
		if line.text != "" {
			height = max(height, margin*2+lineHeight*(rowOf[y]+1))
			add(y, fmt.Sprintf(` style="animation:h %.1fs"`, line.since), line.text)
		}
	}
	width := margin*2 + columns*charWidth
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 %.0f %d" width="%.0f" `+
		`role="img">
<title>%s</title><style>%s</style><rect width="100%%" height="100%%" rx="8" fill="#161b22"/>
%s</svg>
`, width, height, width, title, style, body.String())
}

// pictureRows returns the row in the picture of each line of the screen, -1 for an omitted line.
func pictureRows(events []event, isOmitted func(line string) bool) []int {
	var final screen
	for _, event := range events {
		final.write(event.text)
	}
	next, of := 0, make([]int, rows)
	for y := range of {
		line := ""
		for _, c := range final.lines[y] {
			line += string(max(' ', c.char))
		}
		of[y] = -1
		if !isOmitted(line) {
			of[y] = next
			next++
		}
	}
	return of
}

// pictureTimes returns the times of the events in the picture, in whole frames.
func pictureTimes(events []event) []float64 {
	times := make([]float64, len(events))
	for i := range events[1:] {
		times[i+1] = times[i] + min(maxPause, events[i+1].after-events[i].after)
	}
	speed := max(1, times[len(times)-1]/maxDuration)
	for i := range times {
		times[i] = math.Round(times[i]/speed/frame) * frame
	}
	return times
}

// A cell is a character on the screen and the parameter that selected its color, "" for the default.
type cell struct {
	char  rune
	color string
}

// screen is a terminal that does not scroll. It ignores escape sequences that commands with
// line-oriented output do not use.
type screen struct {
	lines [rows][columns]cell
	x, y  int
	color string
}

var (
	controlSequence = regexp.MustCompile(`^\x1b\[([0-9;?]*)([@-~])`)
	foreground      = regexp.MustCompile(`^[39][0-7]$`)
)

func (s *screen) write(text string) {
	for text != "" {
		if match := controlSequence.FindStringSubmatch(text); match != nil {
			s.control(match[1], match[2])
			text = text[len(match[0]):]
			continue
		}
		char, size := utf8.DecodeRuneInString(text)
		s.put(char)
		text = text[size:]
	}
}

func (s *screen) put(char rune) {
	switch {
	case char == '\r':
		s.x = 0
	case char == '\n':
		s.y = min(s.y+1, rows-1)
	case char >= ' ':
		if s.x == columns {
			s.x, s.y = 0, min(s.y+1, rows-1)
		}
		s.lines[s.y][s.x] = cell{char, s.color}
		s.x++
	}
}

// control moves the cursor up (A), erases from the cursor (J, K), or sets the color (m).
func (s *screen) control(parameters, final string) {
	switch final {
	case "A":
		n, _ := strconv.Atoi(parameters) // 1 if it is missing
		s.y = max(0, s.y-max(1, n))
	case "J":
		clear(s.lines[s.y+1:])
		clear(s.lines[s.y][s.x:])
	case "K":
		clear(s.lines[s.y][s.x:])
	case "m":
		s.color = ""
		for parameter := range strings.SplitSeq(parameters, ";") {
			if foreground.MatchString(parameter) {
				s.color = parameter
			}
		}
	}
}

// line returns a line as SVG without the blanks at its end, "" for an empty line.
func (s *screen) line(y int) string {
	var b strings.Builder
	color := ""
	for _, c := range append(s.lines[y][:], cell{}) {
		if c.color != color && color != "" {
			b.WriteString("</tspan>")
		}
		if c.color != color && c.color != "" {
			fmt.Fprintf(&b, `<tspan class="c%s">`, c.color)
		}
		color = c.color
		b.WriteString(html.EscapeString(string(max(' ', c.char))))
	}
	return strings.TrimRight(b.String(), " ")
}
