// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape returns text with every non-printable character written as in Go: \r, \x1b,
// \u202e. Line feeds and tabs remain. Without Escape, names and messages from a cluster, a
// payload or the host could control the terminal.
func Escape(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, needsEscape) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		letter, size := utf8.DecodeRuneInString(text)
		switch {
		case letter == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case needsEscape(letter):
			out.WriteString(strings.Trim(strconv.QuoteRune(letter), "'"))
		default:
			out.WriteRune(letter)
		}
		text = text[size:]
	}
	return out.String()
}

// needsEscape reports whether a terminal could interpret a character instead of printing it.
func needsEscape(letter rune) bool {
	return letter != '\n' && letter != '\t' && !strconv.IsPrint(letter)
}

// escapeJSON returns JSON with the same values, in which non-printable characters are escaped: encoding/json escapes
// only some of those that can control a terminal.
func escapeJSON(encoded []byte) []byte {
	escaped := make([]byte, 0, len(encoded))
	for _, letter := range string(encoded) {
		if !needsEscape(letter) {
			escaped = utf8.AppendRune(escaped, letter)
			continue
		}
		for _, unit := range utf16.Encode([]rune{letter}) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// EscapeLine is Escape for a name, which must not contain line feeds.
func EscapeLine(name string) string { return strings.ReplaceAll(Escape(name), "\n", `\n`) }

// EscapeWriter is a writer that passes its input through Escape. Each Write must contain
// complete characters, as package fmt writes them.
type EscapeWriter struct {
	W      io.Writer
	Colors bool // the colors of a Page remain
}

// Write writes the escaped text to W.
func (e EscapeWriter) Write(text []byte) (int, error) {
	var out strings.Builder
	rest := string(text)
	for e.Colors {
		at := colorSequence.FindStringIndex(rest)
		if at == nil {
			break
		}
		out.WriteString(Escape(rest[:at[0]]) + rest[at[0]:at[1]])
		rest = rest[at[1]:]
	}
	out.WriteString(Escape(rest))
	if _, err := io.WriteString(e.W, out.String()); err != nil {
		return 0, fmt.Errorf("writing text: %w", err)
	}
	return len(text), nil
}

// Shorten returns at most limit bytes of a text that others have written, with an ellipsis if it is longer.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}
