// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Size of the recorded terminal.
const (
	columns = 110
	rows    = 100
)

// An event is output of the recorded command, after a number of seconds.
type event struct {
	after float64
	text  string
}

// recorder writes a recording in the format asciicast v2, which asciinema plays too
// (https://docs.asciinema.org/manual/asciicast/v2/).
type recorder struct {
	w       *json.Encoder
	began   time.Time
	partial []byte // the beginning of a character whose other bytes follow
}

// newRecorder writes the header of a recording to w.
func newRecorder(w io.Writer) (*recorder, error) {
	r := &recorder{w: json.NewEncoder(w), began: time.Now()}
	return r, r.w.Encode(map[string]any{"version": 2, "width": columns, "height": rows, "timestamp": r.began.Unix()})
}

// Write records output of the terminal.
func (r *recorder) Write(output []byte) (int, error) {
	text := slices.Concat(r.partial, output)
	end := len(text)
	for end > 0 && len(text)-end < utf8.UTFMax-1 && !utf8.Valid(text[:end]) {
		end--
	}
	r.partial = text[end:]
	if end == 0 {
		return len(output), nil
	}
	return len(output), r.w.Encode([]any{time.Since(r.began).Seconds(), "o", string(text[:end])})
}

// parseRecording returns the output in a recording.
func parseRecording(recording string) ([]event, error) {
	var events []event
	for i, line := range strings.Split(strings.TrimSpace(recording), "\n") {
		var fields [3]any
		if i == 0 {
			continue // the header
		}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			return nil, fmt.Errorf("reading line %d of the recording: %w", i+1, err)
		}
		after, isNumber := fields[0].(float64)
		text, isText := fields[2].(string)
		if !isNumber || !isText {
			return nil, fmt.Errorf("reading line %d of the recording: not in the format [SECONDS, KIND, TEXT]", i+1)
		}
		if fields[1] == "o" {
			events = append(events, event{after, text})
		}
	}
	return events, nil
}
