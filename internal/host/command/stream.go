// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
)

// Streaming is a long-running command that reports its progress and must not be
// killed, such as a package manager.
type Streaming struct {
	Name   string
	Args   []string
	Env    []string          // NAME=value, added to this process's environment; may contain secrets, unlike arguments
	OnLine func(line string) // called for each line of standard output when it arrives; may be nil
	// OnErrorLine is called for each line of standard error when it arrives; may be nil.
	OnErrorLine func(line string)
	// LastInterrupt is a line of standard error after which the command is not interrupted; "" for none.
	LastInterrupt string
}

// outputInterval is the interval at which new output is read.
const outputInterval = 100 * time.Millisecond

// Run runs the command until it exits and returns its standard output and
// standard error. When ctx ends, Run interrupts the command like Ctrl-C, except
// after LastInterrupt, and waits for it; it never kills it. The command has its own process group, so
// that a Ctrl-C at the terminal reaches it only once.
//
// The output goes to memory and not to pipes: a pipe would break if this
// process exits, and rpm aborts a transaction if its progress cannot be
// printed.
func (s Streaming) Run(ctx context.Context) (stdout, stderr string, err error) {
	out, err := NewMemoryFile("stdout")
	if err != nil {
		return "", "", err
	}
	defer out.Close()
	complaints, err := NewMemoryFile("stderr")
	if err != nil {
		return "", "", err
	}
	defer complaints.Close()
	command := exec.CommandContext(ctx, s.Name, s.Args...)
	command.Env = slices.Concat(childEnvironment(os.Environ()), s.Env)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error {
		if s.LastInterrupt != "" && strings.Contains(readContent(complaints), s.LastInterrupt+"\n") {
			return nil
		}
		return command.Process.Signal(os.Interrupt)
	}
	command.Stdout, command.Stderr = out, complaints
	defer trace.Start(ctx, trace.Command, strings.Join(command.Args, " "))()
	ended := make(chan error, 1)
	go func() { ended <- command.Run() }()
	listener, errorListener := &lineReader{onLine: s.OnLine}, &lineReader{onLine: s.OnErrorLine}
	ticker := time.NewTicker(outputInterval)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-ticker.C:
		}
		listener.readNew(out)
		errorListener.readNew(complaints)
	}
	listener.flush()
	errorListener.flush()
	errorOutput := readContent(complaints)
	return readContent(out), errorOutput, runError(ctx, append([]string{s.Name}, s.Args...), err, errorOutput)
}

// NewMemoryFile returns an anonymous file in memory, which exists until its last
// descriptor is closed.
func NewMemoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("creating a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func readContent(file *os.File) string {
	all, _ := io.ReadAll(io.NewSectionReader(file, 0, 1<<40)) // reading from memory does not fail
	return string(all)
}

// lineReader reports the complete lines of a file that another process writes.
type lineReader struct {
	onLine func(string)
	at     int64
	rest   []byte
}

// readNew reads the new content. It does not change the file offset of the writer.
func (l *lineReader) readNew(file *os.File) {
	if l.onLine == nil {
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
		l.onLine(string(line))
		l.rest = rest
	}
}

func (l *lineReader) flush() {
	if len(l.rest) > 0 {
		l.onLine(string(l.rest))
	}
}
