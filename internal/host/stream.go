package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// Streamed is a program that runs long and tells what it does meanwhile.
type Streamed struct {
	Name string
	Args []string
	Env  []string          // NAME=value, added to this process's own; may hold secrets, as argv may not
	Line func(line string) // each line of its standard output as it comes; may be nil
}

// Run runs the program to its end and gives what it wrote to standard output
// and to standard error. When ctx ends it is interrupted as by Ctrl-C, and then
// waited for: it is never killed, as a package manager is not to be in the
// middle of what it does. It has a process group of its own, so that a Ctrl-C
// at the terminal reaches it once.
func (s Streamed) Run(ctx context.Context) (stdout, stderr string, err error) {
	command := exec.CommandContext(ctx, s.Name, s.Args...)
	command.Env = slices.Concat(childEnvironment(os.Environ()), s.Env)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var said, complaints bytes.Buffer
	out := &liner{tell: s.Line}
	command.Stdout, command.Stderr = io.MultiWriter(&said, out), &complaints
	err = command.Run()
	out.end()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("running %s: %w", s.Name, ErrNoProgram)
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("running %s: %w", s.Name, ctx.Err())
	case errors.As(err, &exit):
		err = &CommandError{
			Argv: append([]string{s.Name}, s.Args...), Code: exit.ExitCode(), Stderr: strings.TrimSpace(complaints.String()),
		}
	case err != nil:
		err = fmt.Errorf("running %s: %w", s.Name, err)
	}
	return said.String(), complaints.String(), err
}

// liner is a writer that tells whole lines.
type liner struct {
	tell func(string)
	rest []byte
}

// Write takes all of it.
func (l *liner) Write(p []byte) (int, error) {
	if l.tell == nil {
		return len(p), nil
	}
	l.rest = append(l.rest, p...)
	for {
		at := bytes.IndexByte(l.rest, '\n')
		if at < 0 {
			return len(p), nil
		}
		l.tell(string(l.rest[:at]))
		l.rest = l.rest[at+1:]
	}
}

func (l *liner) end() {
	if len(l.rest) > 0 {
		l.tell(string(l.rest))
	}
}
