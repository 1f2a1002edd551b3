// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A line that is rewritten is shown for its time, and the rest of the final screen from its time on.
func TestPicture(t *testing.T) {
	var recording strings.Builder
	r, err := NewRecorder(&recording)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"# join\r\n", "\x1b[32mok", "\x1b[0m a < \xe2", "\x80\xa6", "\x1b[K\r\n0:01", "\r\x1b[J\x1b[33mwait\x1b[0m",
	} {
		if _, err := r.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	events, err := parseRecording(recording.String())
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		events[i].after = float64(i) // pauses are shortened to half a second
	}
	got := picture("join", events, func(string) bool { return false })
	for _, want := range []string{
		`style="animation:h 0.0s"># join</text>`,
		`style="animation:h 1.5s"><tspan class="c32">ok</tspan> a &lt; …</text>`,
		`class="t" style="animation:s 0.5s 2.0s">0:01</text>`,
		`style="animation:h 2.5s"><tspan class="c33">wait</tspan></text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %s:\n%s", want, got)
		}
	}
}

// The lines of the picture follow each other where a line is omitted.
func TestOmittedLines(t *testing.T) {
	isOmitted := func(line string) bool { return strings.HasPrefix(line, "omitted") }
	got := picture("join", []event{{text: "one\r\nomitted\r\nomitted too\r\ntwo"}}, isOmitted)
	var shown []string
	for _, match := range regexp.MustCompile(`y="(\d+)"[^>]*>([^<]*)<`).FindAllStringSubmatch(got, -1) {
		shown = append(shown, match[1]+" "+match[2])
	}
	if diff := cmp.Diff([]string{"28 one", "47 two"}, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The documentation includes the pictures: they must be well-formed, and small.
func TestCommittedPictures(t *testing.T) {
	for _, name := range []string{"demo.svg", "nodes-watch.svg", "join-trace.svg"} {
		content, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > 60_000 {
			t.Errorf("%s has %d bytes, want at most 60000", name, len(content))
		}
		decoder := xml.NewDecoder(strings.NewReader(string(content)))
		for err == nil {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
