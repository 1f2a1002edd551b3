// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Error means that a command ran and failed.
type Error struct {
	Argv   []string
	Code   int    // exit status, -1 if a signal ended the command
	Stderr string // standard error, trimmed
}

// Error returns the command, its status and its standard error.
func (e *Error) Error() string {
	message := e.Stderr
	if message == "" {
		message = "no error output"
	}
	return fmt.Sprintf("%s exited with status %d: %s", strings.Join(e.Argv, " "), e.Code, message)
}

// ErrNotInstalled means that a command is not installed.
var ErrNotInstalled = errors.New("command is not installed")

// Run runs a command until it exits and returns its standard output. Arguments
// are visible to all users of the host: never pass a secret. The command does
// not inherit the service manager's notification socket.
func Run(ctx context.Context, name string, args ...string) (string, error) {
	return RunInput(ctx, nil, name, args...)
}

// RunInput runs a command like Run, with bytes on standard input.
func RunInput(ctx context.Context, stdin []byte, name string, args ...string) (string, error) {
	return RunInheriting(ctx, nil, stdin, name, args...)
}

// RunInheriting runs a command like RunInput. The command inherits the open file
// held, if not nil. A lock of the file is then kept until the command exits,
// even if this process is killed.
func RunInheriting(ctx context.Context, held *os.File, stdin []byte, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.WaitDelay = 5 * time.Second // do not block on a grandchild that keeps the pipe open
	command.Env = childEnvironment(os.Environ())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if held != nil {
		command.ExtraFiles = []*os.File{held}
	}
	if stdin != nil {
		command.Stdin = bytes.NewReader(stdin)
	}
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return stdout.String(), fmt.Errorf("running %s: %w", name, ErrNotInstalled)
	case ctx.Err() != nil:
		return stdout.String(), fmt.Errorf("running %s: %w", name, ctx.Err())
	case errors.As(err, &exit):
		return stdout.String(), &Error{
			Argv: append([]string{name}, args...), Code: exit.ExitCode(), Stderr: strings.TrimSpace(stderr.String()),
		}
	case err != nil:
		return stdout.String(), fmt.Errorf("running %s: %w", name, err)
	}
	return stdout.String(), nil
}

// Exists reports whether the command is installed.
func Exists(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

func childEnvironment(environ []string) []string {
	kept := make([]string, 0, len(environ)+1)
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LC_ALL", "LANG", "CREDENTIALS_DIRECTORY":
			continue
		}
		kept = append(kept, variable)
	}
	return append(kept, "LC_ALL=C.UTF-8")
}
