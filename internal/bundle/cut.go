// SPDX-License-Identifier: Apache-2.0

package bundle

import "strings"

// lastLines returns the last complete lines of a text with at most this number of bytes, and
// reports whether it truncated the text.
func lastLines(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	from := len(text) - most
	if text[from-1] == '\n' {
		return text[from:], true
	}
	return wholeLines(text[from:]), true
}

// wholeLines removes the first line of a text whose beginning is missing.
func wholeLines(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
