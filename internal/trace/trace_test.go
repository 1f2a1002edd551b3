// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// encoded returns the name and the thread of each span, and the names of the threads.
func encoded(t *testing.T, r *Recorder) (spans map[string]int, threads map[int]string) {
	t.Helper()
	var out bytes.Buffer
	if err := r.Encode(&out); err != nil {
		t.Fatal(err)
	}
	var document struct {
		TraceEvents []struct {
			Name     string
			Phase    string  `json:"ph"`
			Start    float64 `json:"ts"`
			Duration float64 `json:"dur"`
			Thread   int     `json:"tid"`
			Args     struct{ Name string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	spans, threads = map[string]int{}, map[int]string{}
	for _, e := range document.TraceEvents {
		switch {
		case e.Phase == "M":
			threads[e.Thread] = e.Args.Name
		case e.Duration <= 0 || e.Start <= 0:
			t.Errorf("%s starts at %v and takes %v", e.Name, e.Start, e.Duration)
		default:
			spans[e.Name] = e.Thread
		}
	}
	return spans, threads
}

// Spans of one category that overlap are on lines of their own, and a line is used again. A span that has not ended is
// included.
func TestEncode(t *testing.T) {
	r := NewRecorder()
	ctx := r.Context(t.Context())
	step := Start(ctx, Step, "network")
	first := Start(ctx, DBus, "first")
	second := Start(ctx, DBus, "second")
	first()
	Start(ctx, DBus, "third")()
	second()
	step()
	Start(ctx, Wait, "endless")

	spans, threads := encoded(t, r)
	if diff := cmp.Diff(map[string]int{"network": 1, "first": 501, "second": 502, "third": 501, "endless": 101},
		spans); diff != "" {
		t.Errorf("threads of the spans (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]string{1: "step", 101: "wait", 501: "D-Bus", 502: "D-Bus"}, threads); diff != "" {
		t.Errorf("names of the threads (-want +got):\n%s", diff)
	}
}

func TestStartWithoutRecorder(t *testing.T) { Start(t.Context(), Step, "network")() }

// A request is recorded without its query and its user.
func TestTransport(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	r := NewRecorder()
	request, err := http.NewRequestWithContext(r.Context(t.Context()), http.MethodGet, server.URL+"/a?token=b", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: Transport(http.DefaultTransport)}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	spans, _ := encoded(t, r)
	if diff := cmp.Diff(map[string]int{"GET " + request.URL.Host + "/a": 601}, spans); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
