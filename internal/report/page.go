// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Colors of a terminal.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// colorSequence matches the escape sequences above.
var colorSequence = regexp.MustCompile(`\x1b\[(?:0|1|31|32|33)m`)

// Page prints the text of a document: on a terminal within its width and in color, and in a pipe
// one line for each item.
type Page struct {
	io.Writer
	Width   int // maximum columns of a line; 0 for no limit
	Color   bool
	Verbose bool
}

// Printf prints text as it is.
func (p *Page) Printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// Item prints a text after a label, which may be in color. Further lines of the text begin below
// its first word.
func (p *Page) Item(label, text string) {
	indent := strings.Repeat(" ", displayWidth(label))
	for part := range strings.SplitSeq(text, "\n") {
		p.Hanging(label, indent, part)
		label = indent
	}
}

// Hanging prints a text of one line after a label. Further lines begin with indent.
func (p *Page) Hanging(label, indent, text string) {
	for _, line := range wrapHanging(label, indent, text, p.Width) {
		p.Printf("%s\n", strings.TrimRight(line, " "))
	}
}

// Remedy prints a remedy after a comment that marks its beginning. Its commands are at column 0 and are not wrapped,
// for copying.
func (p *Page) Remedy(remedy Remedy) {
	lines := remedy.Lines()
	if len(lines) == 0 {
		return
	}
	if note, isNote := strings.CutPrefix(lines[0], "# "); isNote {
		lines[0] = "# remedy: " + note
	} else {
		lines = append([]string{"# remedy:"}, lines...)
	}
	for _, line := range lines {
		if note, isNote := strings.CutPrefix(line, "# "); isNote {
			p.Hanging("# ", "# ", note)
			continue
		}
		p.Printf("%s\n", line)
	}
}

// Findings prints findings with their remedies.
func (p *Page) Findings(findings []Finding) {
	for _, finding := range findings {
		severity := p.BySeverity(finding.Severity, fmt.Sprintf("%-8s", finding.label()))
		p.Item(fmt.Sprintf("  %s %-*s  ", severity, stepWidth, finding.Check), finding.Message)
		p.Remedy(finding.Remedy)
	}
}

// Good returns text in the color of good results.
func (p *Page) Good(text string) string { return p.paint(green, text) }

// Bad returns text in the color of problems.
func (p *Page) Bad(text string) string { return p.paint(red, text) }

// Warn returns text in the color of warnings.
func (p *Page) Warn(text string) string { return p.paint(yellow, text) }

// Title returns text in bold.
func (p *Page) Title(text string) string { return p.paint(bold, text) }

// BySeverity returns text in the color of a severity.
func (p *Page) BySeverity(severity Severity, text string) string {
	colors := map[Severity]string{SeverityProblem: red, SeverityWarning: yellow, SeverityOK: green}
	return p.paint(colors[severity], text)
}

// paint returns text in a color, or text itself if the color or the text is "".
func (p *Page) paint(color, text string) string {
	if !p.Color || color == "" || text == "" {
		return text
	}
	return color + text + reset
}

// wrapHanging splits a text at spaces into lines of at most width columns. The first line begins with
// label, all others with indent. Longer words are not split, so that they can be copied. If width is 0,
// or if everything fits on one line, there is one line.
func wrapHanging(label, indent, text string, width int) []string {
	if width <= 0 || displayWidth(label+text) <= width {
		return []string{label + text}
	}
	var lines []string
	line, separator := label, ""
	for word := range strings.FieldsSeq(text) {
		begun := separator != "" || displayWidth(label) > displayWidth(indent) // a break gains space
		if begun && line != indent && displayWidth(line+separator+word) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line, separator = indent, ""
		}
		line += separator + word
		separator = " "
	}
	return append(lines, line)
}

// displayWidth returns the number of columns of a text without its colors. Double-width characters
// do not occur.
func displayWidth(text string) int {
	if strings.Contains(text, "\x1b") {
		text = colorSequence.ReplaceAllString(text, "")
	}
	return utf8.RuneCountInString(text)
}
