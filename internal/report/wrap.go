package report

import (
	"strings"
	"unicode/utf8"
)

// wrap splits a text at spaces into lines of at most width columns. Longer words are not
// split, so that they can be copied. If width is 0, wrap does not split.
func wrap(text string, width int) []string {
	if width <= 0 || displayWidth(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case displayWidth(line)+1+displayWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
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
