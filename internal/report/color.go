// SPDX-License-Identifier: Apache-2.0

package report

import "regexp"

// Colors of a terminal.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// colorSequence matches the escape sequences above.
var colorSequence = regexp.MustCompile(`\x1b\[(?:0|1|31|32|33)m`)

// colorize returns text in a color. If the color or the text is "", it returns text.
func colorize(color, text string) string {
	if color == "" || text == "" {
		return text
	}
	return color + text + reset
}
