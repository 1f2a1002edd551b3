// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// The trace of a run that fails is written, with what was awaited and the pauses.
func TestTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "join.json")
	failure := errors.New("the join failed")
	err := Trace(t.Context(), name, report.Sinks{}, func(ctx context.Context, sink report.Sink) error {
		defer trace.Start(ctx, trace.Step, "runtime")()
		log := report.Log{Sink: sink, Step: "runtime"}
		log.Wait("waiting for CRI-O", "")
		log.Wait("waiting for CRI-O", "")
		log.Note("CRI-O runs")
		return errors.Join(failure, wait.Sleep(ctx, 1))
	})
	if !errors.Is(err, failure) {
		t.Error(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{`"runtime"`: 1, `"waiting for CRI-O"`: 1, `"1ns"`: 1} {
		if got := strings.Count(string(content), text); got != want {
			t.Errorf("%d times %s in %s", got, text, content)
		}
	}
}

func TestTraceReplacesNoFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "join.json")
	if err := os.WriteFile(name, []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Trace(t.Context(), name, nil, func(context.Context, report.Sink) error {
		t.Error("the command ran")
		return nil
	})
	content, _ := os.ReadFile(name)
	if report.CodeOf(err) != report.Usage || string(content) != "of another program" {
		t.Errorf("%v; %s", err, content)
	}
}
