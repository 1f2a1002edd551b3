package report

import "strings"

// wrap breaks a text at spaces, so that no line is longer than width; words that
// are longer stay whole, as they are to be copied. width 0 breaks nothing.
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

// cut shortens a text to width, and shows that it did.
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

// cells is how wide a text is. What is told has no letters of double width.
func cells(text string) int { return len([]rune(text)) }
