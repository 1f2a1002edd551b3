// SPDX-License-Identifier: Apache-2.0

package systemd

import "strings"

// SplitWords splits a command line as systemd does: at whitespace outside quotes; a backslash escapes the next
// character. The output of iptables-save is quoted in the same way.
func SplitWords(line string) []string {
	line = strings.ReplaceAll(line, "\\\n", " ") // a continued line
	var all []string
	var word strings.Builder
	var quote rune
	var escaped, inWord bool
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && strings.ContainsRune(" \t\n", c):
			if inWord {
				all = append(all, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if inWord {
		all = append(all, word.String())
	}
	return all
}
