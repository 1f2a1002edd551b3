// SPDX-License-Identifier: Apache-2.0

package servicelog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

var (
	klogMessage   = regexp.MustCompile(`^("(?:[^"\\]|\\.)*")(?: err=("(?:[^"\\]|\\.)*"))?`)
	logrusMessage = regexp.MustCompile(`level=\w+ msg=("(?:[^"\\]|\\.)*")`)
	mountError    = regexp.MustCompile(`^Operation for .* Error: (MountVolume\S* failed for volume "[^"]+").*? : (.*)$`)
	sandboxName   = regexp.MustCompile(` with name "k8s_[^"]+"`)
)

// FormatLine makes a line of a structured log readable: `"command failed" err="no"`
// becomes command failed: no. Of logrus fields it keeps the message.
func FormatLine(line string) string {
	text := line
	if m := klogMessage.FindStringSubmatch(line); m != nil {
		text = unquote(m[1])
		if m[2] != "" {
			text += ": " + unquote(m[2])
		}
	} else if m := logrusMessage.FindStringSubmatch(line); m != nil {
		text = unquote(m[1])
	}
	// Remove what differs between retries, so that each retry does not produce a
	// new text.
	text = mountError.ReplaceAllString(text, "$1: $2")
	text = sandboxName.ReplaceAllString(text, "")
	return Shorten(redact.Text(text), MaxMessage)
}

func unquote(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return strings.Trim(text, `"`)
}

// Last returns the last lines, at most count.
func Last(lines []string, count int) []string { return lines[max(0, len(lines)-count):] }

// Format returns the distinct lines in readable form, for Finding.Details.
func Format(lines ...string) []string {
	var all []string
	for _, line := range lines {
		if text := FormatLine(line); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// Lengths of texts, in characters.
const (
	MaxMessage = 300 // of a message from another program
	MaxExcerpt = 160 // of a message quoted within a sentence
)

// Shorten returns the line with single spaces, cut after maxRunes characters.
func Shorten(line string, maxRunes int) string {
	runes := []rune(strings.Join(strings.Fields(line), " "))
	if len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return string(runes)
}
