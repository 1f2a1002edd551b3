// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Sizes of a timeline in pixels.
const (
	chartWidth = 900
	labelWidth = 80
	rowHeight  = 20
	barHeight  = 14
)

// lightStyle has the classes axis, for less important text, and g, for the grid.
const lightStyle = `text{font:12px system-ui,sans-serif;fill:#24292f}.axis{fill:#57606a}.g{stroke:#d0d7de}`

const timelineStyle = `.name{fill:#fff}rect{stroke:#fff;stroke-width:.5}` +
	`.step{fill:#0969da}.wait{fill:#bf8700}.pause{fill:#d4a72c}.unit{fill:#1a7f37}.command{fill:#8250df}` +
	`.D-Bus{fill:#6e7781}.request{fill:#cf222e}`

// span is an event of a trace of hcp-node-agent join --trace. Times are in microseconds.
type span struct {
	Name     string
	Category string  `json:"cat"`
	Phase    string  `json:"ph"`
	Start    float64 `json:"ts"`
	Duration float64 `json:"dur"`
	Thread   int     `json:"tid"`
}

// Timeline draws a trace as SVG: a row for each thread, with a bar for each span that is as wide as a pixel. A pointer
// on a bar shows its name and its duration.
func Timeline(title string, trace []byte) (string, error) {
	var document struct{ TraceEvents []span }
	if err := json.Unmarshal(trace, &document); err != nil {
		return "", fmt.Errorf("reading the trace: %w", err)
	}
	spans := slices.DeleteFunc(document.TraceEvents, func(s span) bool { return s.Phase != "X" })
	end := 0.0
	for _, s := range spans {
		end = max(end, s.Start+s.Duration)
	}
	scale := (chartWidth - labelWidth - margin) / max(end, 1)
	var threads []int
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.Duration*scale < 1 })
	for _, s := range spans {
		threads = append(threads, s.Thread)
	}
	slices.Sort(threads)
	threads = slices.Compact(threads)
	var body strings.Builder
	label := func(x float64, y int, class, text string) {
		fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(text))
	}
	bottom := margin + rowHeight*len(threads)
	for second := 0.0; second*1e6 <= end; second += Tick(end / 1e6) {
		x := labelWidth + second*1e6*scale
		fmt.Fprintf(&body, "<path class=\"g\" d=\"M%.1f %dV%d\"/>\n", x, margin, bottom)
		label(x, bottom+rowHeight-4, "axis", fmt.Sprintf("%g s", second))
	}
	for row, thread := range threads {
		y, isFirst := margin+rowHeight*row, true
		for _, s := range spans {
			if s.Thread != thread {
				continue
			}
			if isFirst && thread%100 == 1 { // of its category
				label(4, y+barHeight-2, "axis", s.Category)
			}
			isFirst = false
			x, width := labelWidth+s.Start*scale, s.Duration*scale
			fmt.Fprintf(&body, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">"+
				"<title>%s: %.2f s</title></rect>\n", s.Category, x, y, width, barHeight, html.EscapeString(s.Name), s.Duration/1e6)
			if s.Category == "step" && width > charWidth*float64(len(s.Name)) {
				label(x+3, y+barHeight-3, "name", s.Name)
			}
		}
	}
	return LightPicture(title, timelineStyle, chartWidth, bottom+rowHeight, body.String()), nil
}

// LightPicture returns an SVG document with a body. Its text is dark on white, also on a page with a dark background.
func LightPicture(title, style string, width, height int, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img">
<title>%s</title><style>%s</style><rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, width, height, width, html.EscapeString(title), lightStyle+style, body)
}

// Tick returns the distance of the marks on an axis that begins at zero: 1, 2 or 5 times a power of ten, at most ten of
// them up to the largest value.
func Tick(largest float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(largest, 1)/10)))
	for _, factor := range []float64{1, 2, 5} {
		if largest/(factor*power) <= 10 {
			return factor * power
		}
	}
	return 10 * power
}
