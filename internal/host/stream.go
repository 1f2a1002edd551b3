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
	"time"

	"golang.org/x/sys/unix"
)

// Streamed is a program that runs long and tells what it does meanwhile, and
// that is not to be ended in the middle, as a package manager.
type Streamed struct {
	Name string
	Args []string
	Env  []string          // NAME=value, added to this process's own; may hold secrets, as argv may not
	Line func(line string) // each line of its standard output as it comes; may be nil
}

// listenEvery is how often what a program has printed is looked at.
const listenEvery = 100 * time.Millisecond

// Run runs the program to its end and gives what it wrote to standard output
// and to standard error. When ctx ends it is interrupted as by Ctrl-C, and then
// waited for: it is never killed. It has a process group of its own, so that a
// Ctrl-C at the terminal reaches it once. It writes into memory and not into
// pipes: when this process dies, a pipe would break under it, and rpm ends a
// transaction where it is when its progress cannot be printed.
func (s Streamed) Run(ctx context.Context) (stdout, stderr string, err error) {
	out, err := memory("stdout")
	if err != nil {
		return "", "", err
	}
	defer out.Close()
	complaints, err := memory("stderr")
	if err != nil {
		return "", "", err
	}
	defer complaints.Close()
	command := exec.CommandContext(ctx, s.Name, s.Args...)
	command.Env = slices.Concat(childEnvironment(os.Environ()), s.Env)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stdout, command.Stderr = out, complaints
	ended := make(chan error, 1)
	go func() { ended <- command.Run() }()
	listener := &listener{tell: s.Line}
	for again := time.NewTicker(listenEvery); err == nil; {
		select {
		case err = <-ended:
			again.Stop()
			if err == nil {
				err = io.EOF // it ended well
			}
		case <-again.C:
			listener.hear(out)
		}
	}
	listener.hear(out)
	listener.end()
	said := content(complaints)
	return content(out), said, s.failure(ctx, err, said)
}

// failure says how the program ended, nil when it ended well.
func (s Streamed) failure(ctx context.Context, err error, stderr string) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("running %s: %w", s.Name, ErrNoProgram)
	case ctx.Err() != nil:
		return fmt.Errorf("running %s: %w", s.Name, ctx.Err())
	case errors.As(err, &exit):
		return &CommandError{Argv: append([]string{s.Name}, s.Args...), Code: exit.ExitCode(), Stderr: strings.TrimSpace(stderr)}
	}
	return fmt.Errorf("running %s: %w", s.Name, err)
}

// memory is a file that is nowhere, and that lives as long as somebody has it
// open.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func content(file *os.File) string {
	all, _ := io.ReadAll(io.NewSectionReader(file, 0, 1<<40)) // memory does not fail to be read
	return string(all)
}

// listener tells whole lines of a file that another writes.
type listener struct {
	tell func(string)
	at   int64
	rest []byte
}

// hear reads what has come since. The place where the other writes is left.
func (l *listener) hear(file *os.File) {
	if l.tell == nil {
		return
	}
	came, _ := io.ReadAll(io.NewSectionReader(file, l.at, 1<<40))
	l.at += int64(len(came))
	l.rest = append(l.rest, came...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return
		}
		l.tell(string(line))
		l.rest = rest
	}
}

func (l *listener) end() {
	if len(l.rest) > 0 {
		l.tell(string(l.rest))
	}
}
