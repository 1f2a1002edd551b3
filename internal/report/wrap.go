package report

import "strings"

// wrap splits a text at spaces into lines of at most width columns. Longer words are not
// split, so that they can be copied. If width is 0, wrap does not split.
func wrap(text string, width int) []string {
	if width <= 0 || cells(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case cells(line)+1+cells(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// cut truncates a text to width columns and marks the truncation.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string(runes[:width-1]) + "…"
}

// cells returns the number of columns of a text. Double-width characters do not occur.
func cells(text string) int { return len([]rune(text)) }
