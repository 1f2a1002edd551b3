// SPDX-License-Identifier: Apache-2.0

// Package recording records what a command prints on a terminal, and draws it.
package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
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

// OnTerminal returns a shell command that runs a command on a terminal of the recorded size.
func OnTerminal(command string) string {
	return fmt.Sprintf("script -qec 'stty cols %d rows %d; TERM=xterm-256color LC_ALL=C.UTF-8 %s' /dev/null", columns,
		rows, command)
}

// An event is output of the recorded command, after a number of seconds.
type event struct {
	after float64
	text  string
}

// Recorder writes a recording in the format asciicast v2, which asciinema plays too
// (https://docs.asciinema.org/manual/asciicast/v2/).
type Recorder struct {
	w       *json.Encoder
	began   time.Time
	partial []byte // the beginning of a character whose other bytes follow
}

// NewRecorder writes the header of a recording to w.
func NewRecorder(w io.Writer) (*Recorder, error) {
	r := &Recorder{w: json.NewEncoder(w), began: time.Now()}
	return r, r.w.Encode(map[string]any{"version": 2, "width": columns, "height": rows, "timestamp": r.began.Unix()})
}

// Write records output of the terminal.
func (r *Recorder) Write(output []byte) (int, error) {
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

// Draw draws the recording in a file as SVG, with a title. isOmitted is called with each line of the final screen from
// the top, and selects those that the picture omits.
func Draw(recording, svg, title string, isOmitted func(line string) bool) error {
	content, err := os.ReadFile(recording)
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	events, err := parseRecording(string(content))
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fmt.Errorf("%s contains no output", recording)
	}
	content = []byte(picture(title, events, isOmitted))
	return os.WriteFile(svg, content, 0o644) //nolint:gosec // a file of the repository
}
