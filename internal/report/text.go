// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

// AbbreviateList joins the first elements of a list and the number of the others.
func AbbreviateList(all []string) string {
	const maxShown = 5
	if len(all) <= maxShown {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:maxShown], "; "), len(all)-maxShown)
}

// Timestamp formats a time for messages: in UTC, to the second.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// FormatAge formats a duration in the past for messages, such as 3h5m or 3 days.
func FormatAge(age time.Duration) string {
	switch {
	case age < time.Minute:
		return "less than a minute"
	case age > 48*time.Hour:
		return fmt.Sprintf("%d days", int(age.Hours()/24))
	}
	text := age.Round(time.Minute).String() // 3h5m0s
	return text[:len(text)-len("0s")]
}

// InvalidValue returns the message for an invalid value of a setting. Its name is that of the
// source: a key, a variable or a flag. A secret in the value is masked.
func InvalidValue(name, value string, err error) string {
	return redact.Text(fmt.Sprintf("%s: invalid value %q: %v", name, value, err))
}

// ParseDuration parses a duration in the notation of Go, such as 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a duration such as 90s or 1h30m")
	}
	return duration, nil
}

// ShellWord returns text as one word of a shell command. It is quoted with single quotes if
// it contains a character with a meaning in the shell.
func ShellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
