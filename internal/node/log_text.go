package node

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

// formatLogLine makes a line of a structured log readable: `"command failed" err="no"`
// becomes command failed: no. Of logrus fields it keeps the message.
func formatLogLine(line string) string {
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
	return shorten(redact.Text(text), maxMessageLength)
}

func unquote(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return strings.Trim(text, `"`)
}

func lastLines(lines []string, count int) []string { return lines[max(0, len(lines)-count):] }

// formatLogLines returns the distinct lines in readable form, for Finding.Details.
func formatLogLines(lines ...string) []string {
	var all []string
	for _, line := range lines {
		if text := formatLogLine(line); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

const (
	maxMessageLength = 300 // characters of a message from another program
	maxExcerptLength = 160 // characters of a message quoted within a sentence
)

func shorten(line string, maxRunes int) string {
	runes := []rune(strings.Join(strings.Fields(line), " "))
	if len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return string(runes)
}
