// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestChildEnvironment(t *testing.T) {
	got := childEnvironment([]string{
		"PATH=/bin", "LANG=de_DE.UTF-8", "LC_ALL=POSIX", "NOTIFY_SOCKET=/run/x", "WATCHDOG_USEC=1", "WATCHDOG_PID=2",
		"CREDENTIALS_DIRECTORY=/run/credentials/x", "NOTIFY_SOCKET_OF=somebody", "HOME=/root", "EMPTY=",
	})
	want := []string{"PATH=/bin", "NOTIFY_SOCKET_OF=somebody", "HOME=/root", "EMPTY=", "LC_ALL=C.UTF-8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunReturnsOutput(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/run/notify")
	out, err := Run(t.Context(), "sh", "-c", `echo "$LC_ALL,$NOTIFY_SOCKET,$1"; echo noise >&2`, "sh", "a b;c")
	if err != nil || out != "C.UTF-8,,a b;c\n" {
		t.Errorf("%q, %v", out, err)
	}
	out, err = RunInput(t.Context(), []byte("from stdin"), "cat")
	if err != nil || out != "from stdin" {
		t.Errorf("%q, %v", out, err)
	}
	out, err = Run(t.Context(), "cat") // never waits for a terminal
	if err != nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunReportsFailure(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		code   int
		out    string
		want   string
	}{
		"with a word": {
			"echo half; echo '  what is wrong  ' >&2; exit 3", 3, "half\n", "sh -c SCRIPT exited with status 3: what is wrong",
		},
		"without a word": {"exit 1", 1, "", "sh -c SCRIPT exited with status 1: no error output"},
		"by a signal":    {"kill -9 $$", -1, "", "sh -c SCRIPT exited with status -1: no error output"},
		"with 126":       {"exit 126", 126, "", "sh -c SCRIPT exited with status 126: no error output"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Run(t.Context(), "sh", "-c", test.script)
			var failed *Error
			if !errors.As(err, &failed) {
				t.Fatalf("error %v", err)
			}
			message := strings.Replace(err.Error(), test.script, "SCRIPT", 1)
			if failed.Code != test.code || message != test.want || out != test.out {
				t.Errorf("code %d, %q, output %q", failed.Code, message, out)
			}
			if !slices.Equal(failed.Argv, []string{"sh", "-c", test.script}) {
				t.Errorf("argv %q", failed.Argv)
			}
		})
	}
}

func TestRunCommandNotInstalled(t *testing.T) {
	_, err := Run(t.Context(), "no-such-program-of-a-node")
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "no-such-program-of-a-node") {
		t.Errorf("error %v", err)
	}
	if Exists("no-such-program-of-a-node") || !Exists("sh") {
		t.Error("HasProgram is wrong")
	}
}

func TestRunStopsWithContext(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(canceled, "sh", "-c", "exit 0"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := Run(late, "sh", "-c", "exit 0"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the time: %v", err)
	}

	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := Run(running, "sh", "-c", `echo $$ >"$1"; exec sleep 600`, "sh", pipe)
		result <- err
	}()
	content, err := os.ReadFile(pipe) // exits when the shell has printed its number
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while running: %v", err)
	}
	process := strings.TrimSpace(string(content))
	if _, err := os.Stat("/proc/" + process); process == "" || err == nil {
		t.Errorf("process %q still runs", process)
	}
}
