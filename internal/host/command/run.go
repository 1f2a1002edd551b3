// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
)

// Error means that a command ran and failed.
type Error struct {
	Argv   []string
	Code   int    // exit status, -1 if a signal ended the command
	Stderr string // standard error, trimmed
}

// Error returns the command, its status and its standard error.
func (e *Error) Error() string {
	message := cmp.Or(e.Stderr, "no error output")
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
	end := trace.Start(ctx, trace.Command, strings.Join(command.Args, " "))
	err := command.Run()
	end()
	if err == nil {
		err = ctx.Err()
	}
	return stdout.String(), runError(ctx, append([]string{name}, args...), err, stderr.String())
}

// runError returns the error of a command that has exited with err, nil for success.
func runError(ctx context.Context, argv []string, err error, stderr string) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		err = ErrNotInstalled
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &exit):
		return &Error{Argv: argv, Code: exit.ExitCode(), Stderr: strings.TrimSpace(stderr)}
	}
	return fmt.Errorf("running %s: %w", argv[0], err)
}

// Exists reports whether the command is installed.
func Exists(name string) bool { return Find(name) != "" }

// Find returns the path of the command, "" if it is not installed.
func Find(name string) string {
	file, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return file
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
