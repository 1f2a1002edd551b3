package report

import "strings"

// wrap splits a text at spaces into lines of at most width columns. Longer words are not
// split, so that they can be copied. If width is 0, wrap does not split.
func wrap(text string, width int) []string {
	return WrapHanging("", "", text, width)
}

// WrapHanging splits a text at spaces into lines of at most width columns. The first line begins with
// label, all others with indent. Longer words are not split. If width is 0, or if everything fits on
// one line, there is one line.
func WrapHanging(label, indent, text string, width int) []string {
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

// truncate truncates a text to width columns and marks the truncation.
func truncate(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string(runes[:width-1]) + "…"
}

// displayWidth returns the number of columns of a text. Double-width characters do not occur.
func displayWidth(text string) int { return len([]rune(text)) }
