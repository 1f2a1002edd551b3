// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"unicode/utf8"
)

// wrap splits a text at spaces into lines of at most width columns. Longer words are not
// split, so that they can be copied. If width is 0, wrap does not split.
func wrap(text string, width int) []string {
	return wrapHanging("", "", text, width)
}

// wrapHanging splits a text at spaces into lines of at most width columns. The first line begins with
// label, all others with indent. Longer words are not split. If width is 0, or if everything fits on
// one line, there is one line.
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
