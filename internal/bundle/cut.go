package bundle

import "strings"

// end gives the end of a text, in whole lines of at most so many bytes, and
// tells whether something was cut.
func end(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	from := len(text) - most
	if text[from-1] == '\n' {
		return text[from:], true
	}
	return wholeLines(text[from:]), true
}

// wholeLines leaves out the first line of a text, of which the beginning is
// missing.
func wholeLines(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
