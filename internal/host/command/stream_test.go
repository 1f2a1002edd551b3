// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestLongCommandReportsLines(t *testing.T) {
	var lines []string
	out, stderr, err := Streaming{
		Name: "sh", Args: []string{"-c", `printf 'one\ntwo '; echo loud >&2; printf 'more\n'; printf "$SECRET"`},
		Env:    []string{"SECRET=three"},
		OnLine: func(line string) { lines = append(lines, line) },
	}.Run(t.Context())
	if diff := cmp.Diff([]string{"one", "two more", "three"}, lines); diff != "" || err != nil ||
		out != "one\ntwo more\nthree" || stderr != "loud\n" {
		t.Errorf("%q, %q, %v (-want +got):\n%s", out, stderr, err, diff)
	}
	var failed *Error
	if _, _, err := (Streaming{Name: "sh", Args: []string{"-c", "echo why >&2; exit 3"}}).Run(t.Context()); !errors.As(err,
		&failed) || failed.Code != 3 || failed.Stderr != "why" {
		t.Errorf("%v", err)
	}
	if _, _, err := (Streaming{Name: "there-is-no-such-program"}).Run(t.Context()); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("%v", err)
	}
}

// A package manager in the middle of a transaction finishes it.
func TestLongCommandIsInterruptedAndAwaited(t *testing.T) {
	file := filepath.Join(t.TempDir(), "finished")
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Streaming{
		Name: "sh", Args: []string{
			"-c", `trap 'trap "" INT; sleep 1; echo done > "$1"; exit 1' INT; echo ready; while :; do sleep 0.1; done`, "sh",
			file,
		},
		OnLine: func(string) { cancel() },
	}.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "done\n" {
		t.Errorf("it was not let finish: %q, %v", content, err)
	}
}

// dnf5 exits at once after an interrupt, whatever its transaction has done. The command waits for a line in a pipe,
// which it gets only if it is not interrupted.
func TestLongCommandIsNotInterruptedAfterALine(t *testing.T) {
	for name, test := range map[string]struct {
		last string
		line string
		want string
	}{
		"after the line":  {last: "Running transaction", line: "continue\n", want: "done\n"},
		"before the line": {last: "Complete!"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pipe")
			if err := unix.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			pipe, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			ctx, cancel := context.WithCancel(t.Context())
			context.AfterFunc(ctx, func() { _, _ = pipe.WriteString(test.line) })
			out, _, err := Streaming{
				Name: "sh", Args: []string{"-c", "echo Running transaction >&2; read -r _ <$0; echo done", path},
				OnErrorLine: func(string) { cancel() }, LastInterrupt: test.last,
			}.Run(ctx)
			if !errors.Is(err, context.Canceled) || out != test.want {
				t.Errorf("output %q, %v", out, err)
			}
		})
	}
}

// A pipe would break if this process exits, and end the command.
func TestLongCommandWritesToMemory(t *testing.T) {
	out, _, err := Streaming{
		Name: "sh",
		Args: []string{"-c", "readlink /proc/$$/fd/1 /proc/$$/fd/2 | cat"},
	}.Run(t.Context())
	if err != nil || strings.Contains(out, "pipe:") || strings.Count(out, "memfd:") != 2 {
		t.Errorf("%q, %v", out, err)
	}
}
