// SPDX-License-Identifier: Apache-2.0

package systemd

import "strings"

// Option is a setting of a unit.
type Option struct{ Section, Name, Value string }

// ParseOptions returns the settings in the content of a unit file or drop-in, in order. It ignores what systemd ignores
// (systemd.syntax(7)): comments, also between continued lines, and lines that are no setting. A value keeps the
// backslashes and newlines of continued lines, which [SplitWords] joins. go-systemd takes comments between continued
// lines for values, and fails for lines of more than 2048 bytes.
func ParseOptions(content string) []Option {
	var options []Option
	var section, setting string
	// The blank line ends a setting that would be continued after the end.
	for line := range strings.Lines(content + "\n\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		setting += line
		if strings.HasSuffix(line, "\\\n") {
			continue
		}
		name, value, isSetting := strings.Cut(setting, "=")
		switch {
		case isSetting:
			options = append(options, Option{section, strings.TrimSpace(name), strings.TrimSpace(value)})
		case strings.HasPrefix(trimmed, "["):
			section = strings.Trim(trimmed, "[]")
		}
		setting = ""
	}
	return options
}
