// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
)

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

// Remedy prints a remedy. Its commands are at column 0 and are not wrapped, for copying.
func (p *Page) Remedy(remedy Remedy) {
	for _, line := range remedy.Lines() {
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
		severity := p.BySeverity(finding.Severity, fmt.Sprintf("%-8s", finding.Severity))
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
	switch severity {
	case SeverityProblem:
		return p.Bad(text)
	case SeverityWarning:
		return p.Warn(text)
	case SeverityOK:
		return p.Good(text)
	case SeverityNote:
	}
	return text
}

func (p *Page) paint(color, text string) string {
	if !p.Color {
		return text
	}
	return colorize(color, text)
}
