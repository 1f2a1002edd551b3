package kubelet

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// JournalError is an error that a unit has told the journal.
type JournalError struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// LastError gives a unit's last error among its last 500 lines of this boot;
// nil where there is none. Without root the journal shows only some of it.
func LastError(ctx context.Context, unit string) (*JournalError, error) {
	text, err := host.Run(ctx, "journalctl", "--unit="+unit, "--boot", "--lines=500", "--output=json", "--output-fields=MESSAGE", "--no-pager", "--quiet")
	if err != nil {
		return nil, err
	}
	return lastErrorOf(text), nil
}

func lastErrorOf(journal string) *JournalError {
	for _, line := range slices.Backward(strings.Split(journal, "\n")) {
		var entry struct {
			Message string `json:"MESSAGE"`
			Micros  string `json:"__REALTIME_TIMESTAMP"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue // a message that is no text
		}
		told := errorLines(entry.Message, 1)
		micros, err := strconv.ParseInt(entry.Micros, 10, 64)
		if len(told) == 0 || err != nil {
			continue
		}
		return &JournalError{Time: time.UnixMicro(micros).UTC(), Text: told[0]}
	}
	return nil
}
