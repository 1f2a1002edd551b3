package node

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// JournalError is an error that a unit logged to the journal.
type JournalError struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// LastError returns the last error among a unit's last 500 journal lines since
// boot, or nil if there is none. Without root access the journal may be
// incomplete.
func LastError(ctx context.Context, unit string) (*JournalError, error) {
	text, err := command.Run(ctx, "journalctl", "--unit="+unit, "--boot", "--lines=500", "--output=json", "--output-fields=MESSAGE", "--no-pager", "--quiet")
	if err != nil {
		return nil, err
	}
	return parseLastError(text), nil
}

func parseLastError(journal string) *JournalError {
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
		return &JournalError{Time: time.UnixMicro(micros).UTC(), Text: messages[0]}
	}
	return nil
}
