// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestTimeline(t *testing.T) {
	got, err := Timeline("a join", []byte(`{"traceEvents": [
		{"name": "network", "cat": "step", "ph": "X", "ts": 0, "dur": 40000000, "tid": 1},
		{"name": "waiting for <br-ex>", "cat": "wait", "ph": "X", "ts": 10000000, "dur": 20000000, "tid": 101},
		{"name": "thread_name", "ph": "M", "tid": 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<rect class="step" x="80.0" y="14" width="806.0" height="14"><title>network: 40.00 s</title>`,
		`<rect class="wait" x="281.5" y="34" width="403.0" height="14"><title>waiting for &lt;br-ex&gt;: 20.00 s</title>`,
		`>step</text>`, `>wait</text>`, `>40 s</text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the timeline lacks %s:\n%s", want, got)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(got))
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestTick(t *testing.T) {
	for largest, want := range map[float64]float64{0.4: 0.1, 5: 0.5, 33: 5, 40: 5, 58: 10, 180: 20} {
		if got := Tick(largest); got != want {
			t.Errorf("Tick(%g) = %g, want %g", largest, got, want)
		}
	}
}
