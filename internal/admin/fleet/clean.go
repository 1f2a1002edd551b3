// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"unicode"
)

// maxTextLength limits the texts that a node or a controller has written, in characters.
const maxTextLength = 1024

// Clean returns a text of another party for a terminal: in one line, without control characters, and with at most
// limit characters.
func Clean(text string, limit int) string {
	const bytesPerCharacter = 4
	if maxBytes := (limit + 1) * bytesPerCharacter; len(text) > maxBytes {
		text = text[:maxBytes]
	}
	text = strings.Map(func(letter rune) rune {
		switch {
		case unicode.IsSpace(letter):
			return ' '
		case unicode.IsPrint(letter) && letter != unicode.ReplacementChar:
			return letter
		}
		return -1
	}, text)
	if letters := []rune(text); len(letters) > limit {
		return string(letters[:limit]) + "…"
	}
	return text
}
