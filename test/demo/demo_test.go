// SPDX-License-Identifier: Apache-2.0

package main

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
	r, err := newRecorder(&recording)
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
	got := picture("join", events)
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

// The picture omits the preflight of the machine, and the lines between the result of the join and the approval.
func TestOmittedLines(t *testing.T) {
	got := picture("join", []event{{text: "# join\r\n  ✓ preflight  4 warnings\r\n      ! Debian\r\n  ✓ fetch\r\n" +
		"worker-0 is Ready\r\nActions for you\r\n  ! Debian\r\n" + approvalHeading + "\r\nhcp-node-admin approve"}})
	var shown []string
	for _, match := range regexp.MustCompile(`y="(\d+)"[^>]*>([^<]*)<`).FindAllStringSubmatch(got, -1) {
		shown = append(shown, match[1]+" "+match[2])
	}
	want := []string{
		"28 # join", "47   ✓ fetch", "66 worker-0 is Ready", "85 " + approvalHeading, "104 hcp-node-admin approve",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The README includes the picture: it must be well-formed, and small.
func TestCommittedPicture(t *testing.T) {
	content, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > 60_000 {
		t.Errorf("docs/demo.svg has %d bytes, want at most 60000", len(content))
	}
	decoder := xml.NewDecoder(strings.NewReader(string(content)))
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
