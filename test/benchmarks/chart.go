// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/recording"
)

// Sizes in pixels.
const (
	width      = 760
	margin     = 14
	lineHeight = 20
	charWidth  = 7
	valueWidth = 60 // of the value after a bar, or at the axis
	barHeight  = 12
	plotHeight = 150
)

// chartStyle has a class for each series, and those of bars (b) and lines (l).
const chartStyle = `.title{font-weight:bold}.s0{fill:#0969da;stroke:#0969da}.s1{fill:#bf8700;stroke:#bf8700}` +
	`.s2{fill:#1a7f37;stroke:#1a7f37}.s3{fill:#8250df;stroke:#8250df}.b{stroke:none}.l{fill:none;stroke-width:2}`

// picture collects the elements of charts from the top to the bottom.
type picture struct {
	body strings.Builder
	y    float64 // the top of the next element
}

// text adds a text whose base line is at y. The anchor is start, middle or end.
func (p *picture) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&p.body, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor,
		html.EscapeString(text))
}

// bar adds a horizontal bar in the color of a series.
func (p *picture) bar(series int, x, y, length float64) {
	fmt.Fprintf(&p.body, "<rect class=\"s%d b\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", series, x, y,
		length, barHeight)
}

// drawCharts draws charts below each other as SVG.
func drawCharts(title string, charts []Chart) string {
	p := &picture{y: margin}
	for _, c := range charts {
		p.text(margin, p.y+barHeight, "title", "start", c.Title)
		p.y += lineHeight
		if len(c.Series) > 1 {
			p.legend(c.Series)
		}
		if len(c.X) > 0 {
			p.lines(c)
		} else {
			p.bars(c)
		}
		p.y += margin
	}
	return recording.LightPicture(title, chartStyle, width, int(p.y), p.body.String())
}

func (p *picture) legend(all []Series) {
	x := float64(margin)
	for i, series := range all {
		p.bar(i, x, p.y+1, barHeight)
		p.text(x+barHeight+4, p.y+barHeight-1, "axis", "start", series.Name)
		x += float64(len(series.Name)*charWidth) + 2*lineHeight
	}
	p.y += lineHeight
}

// bars adds a group of bars for each label.
func (p *picture) bars(c Chart) {
	label := 0
	for _, text := range c.Labels {
		label = max(label, len(text)*charWidth)
	}
	left := float64(margin + label + 6)
	scale := (width - margin - valueWidth - left) / maximum(c.Series)
	for group, text := range c.Labels {
		middle := p.y + float64((barHeight+2)*len(c.Series))/2
		p.text(left-6, middle+4, "label", "end", text)
		for i, series := range c.Series {
			value := series.Values[group]
			p.bar(i, left, p.y+1, value*scale)
			p.text(left+value*scale+4, p.y+barHeight-1, "axis", "start", format(value))
			p.y += barHeight + 2
		}
		p.y += 6
	}
}

// lines adds a line for each series. A pointer on a point shows its value.
func (p *picture) lines(c Chart) {
	left, bottom := float64(margin+valueWidth), p.y+plotHeight
	largest := maximum(c.Series)
	xScale, yScale := (width-2*margin-left)/slices.Max(c.X), (plotHeight-margin)/largest
	for mark := 0.0; mark <= largest; mark += recording.Tick(largest) {
		y := bottom - mark*yScale
		fmt.Fprintf(&p.body, "<path class=\"g\" d=\"M%.1f %.1fH%d\"/>\n", left, y, width-margin)
		p.text(left-6, y+4, "axis", "end", fmt.Sprintf("%.4g", mark))
	}
	for _, x := range c.X {
		p.text(left+x*xScale, bottom+lineHeight-4, "axis", "middle", fmt.Sprintf("%g", x))
	}
	p.text(left, bottom+lineHeight-4, "axis", "start", c.XTitle)
	for i, series := range c.Series {
		var points strings.Builder
		for j, value := range series.Values {
			x, y := left+c.X[j]*xScale, bottom-value*yScale
			fmt.Fprintf(&points, " %.1f,%.1f", x, y)
			fmt.Fprintf(&p.body, "<circle class=\"s%d b\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s: %s</title></circle>\n",
				i, x, y, html.EscapeString(series.Name), format(value))
		}
		fmt.Fprintf(&p.body, "<polyline class=\"s%d l\" points=\"%s\"/>\n", i, points.String()[1:])
	}
	p.y = bottom + lineHeight
}

// maximum returns the largest value, 1 if all are zero.
func maximum(all []Series) float64 {
	largest := 0.0
	for _, series := range all {
		for _, value := range series.Values {
			largest = max(largest, value)
		}
	}
	if largest == 0 {
		return 1
	}
	return largest
}
