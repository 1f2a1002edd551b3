// SPDX-License-Identifier: Apache-2.0

package servicelog

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Error is an error that a unit logged to the journal.
type Error struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// LastError returns the last error among a unit's last 500 journal lines since
// boot, or nil if there is none. Without root access the journal may be
// incomplete.
func LastError(ctx context.Context, unit string) (*Error, error) {
	text, err := command.Run(ctx, "journalctl", "--unit="+unit, "--boot", "--lines=500", "--output=json",
		"--output-fields=MESSAGE", "--no-pager", "--quiet")
	if err != nil {
		return nil, err
	}
	return parseLastError(text), nil
}

func parseLastError(journal string) *Error {
	for _, line := range slices.Backward(strings.Split(journal, "\n")) {
		var entry struct {
			Message string `json:"MESSAGE"`
			Micros  string `json:"__REALTIME_TIMESTAMP"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue // the message is not text
		}
		messages := errorLines(entry.Message, 1)
		micros, err := strconv.ParseInt(entry.Micros, 10, 64)
		if len(messages) == 0 || err != nil {
			continue
		}
		return &Error{Time: time.UnixMicro(micros).UTC(), Text: messages[0]}
	}
	return nil
}

// LastErrors returns a unit's last errors since boot, the newest last. Without --reverse, the journalctl of RHEL 9
// (systemd 252) prints the first lines after --since, not the last ones. kubelet logs 300 lines when it starts.
func LastErrors(ctx context.Context, unit string, count int, more ...string) []string {
	arguments := append([]string{
		"--unit=" + unit, "--boot", "--reverse", "--lines=400", "--output=cat", "--no-pager", "--quiet",
	}, more...)
	text, err := command.Run(ctx, "journalctl", arguments...)
	if err != nil {
		return nil // no journal, no errors
	}
	lines := strings.Split(text, "\n")
	slices.Reverse(lines)
	return errorLines(strings.Join(lines, "\n"), count)
}

// errorLines returns the last distinct errors: lines of klog (E or F and the
// date), of logrus, and of systemd about the process. Errors before the last start of the unit that has failed are not
// included: they can have another cause, which was removed.
func errorLines(text string, count int) []string {
	klog := regexp.MustCompile(`^[EF]\d{4} [\d:.]+ +\d+ [^]]+\] `)
	other := regexp.MustCompile(`level=(error|fatal)|^Error: |Main process exited|Failed to schedule restart ` +
		`job|^panic: `)
	started := regexp.MustCompile(`^Start(ing|ed) `) // by systemd; the lines of kubelet and CRI-O begin with the time
	var found []string
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimSpace(line)
		if len(found) > 0 && started.MatchString(line) {
			break
		}
		prefix := klog.FindString(line)
		if prefix == "" && !other.MatchString(line) {
			continue
		}
		if line = strings.TrimPrefix(line, prefix); !slices.Contains(found, line) {
			found = append(found, line)
		}
		if len(found) == count {
			break
		}
	}
	slices.Reverse(found)
	return found
}
