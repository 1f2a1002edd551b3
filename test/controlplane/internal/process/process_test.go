// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/process"
)

func newGroup(t *testing.T) *process.Group {
	t.Helper()
	g := process.NewGroup(t.TempDir(), (*exec.Cmd).Start)
	t.Cleanup(g.Stop)
	return g
}

func TestUntilFailsWhenChildExits(t *testing.T) {
	g := newGroup(t)
	if err := g.Start("etcd", "/bin/sh", "-c", "echo no space left; exit 3"); err != nil {
		t.Fatal(err)
	}
	never := func(context.Context) error { return errors.New("not yet") }
	err := g.Until(context.Background(), "the API server", never)
	for _, part := range []string{
		"waiting for the API server", "etcd exited unexpectedly", "exit status 3", "no space left",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error has no %q: %v", part, err)
		}
	}
	if again := <-g.Failed(); again == nil {
		t.Error("the failure was reported only once")
	}
}

func TestUntilReportsLastError(t *testing.T) {
	g := newGroup(t)
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	err := g.Until(ctx, "the API server", func(context.Context) error { return errors.New("connection refused") })
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestStopIsNotReportedAsFailure(t *testing.T) {
	g := newGroup(t)
	if err := g.Start("sleeper", "/bin/sleep", "3600"); err != nil {
		t.Fatal(err)
	}
	g.Stop()
	select {
	case err := <-g.Failed():
		t.Errorf("reported as a failure: %v", err)
	default:
	}
	if err := g.Start("late", "/bin/sleep", "3600"); err == nil {
		t.Error("a child was started after the stop")
	}
}

func TestRestartIsNotReportedAsFailure(t *testing.T) {
	g := newGroup(t)
	started := filepath.Join(t.TempDir(), "started")
	if err := g.Start("sleeper", "/bin/sh", "-c", "echo x >>"+started+"; exec sleep 3600"); err != nil {
		t.Fatal(err)
	}
	if err := g.Restart("sleeper"); err != nil {
		t.Fatal(err)
	}
	if err := g.Restart("other"); err == nil {
		t.Error("a child that was not started was restarted")
	}
	err := g.Until(t.Context(), "the second start", func(context.Context) error {
		if content, err := os.ReadFile(started); err != nil || !strings.HasSuffix(string(content), "x\n") {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
