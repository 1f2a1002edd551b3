// SPDX-License-Identifier: Apache-2.0

// Package pty runs commands on a pseudoterminal for tests.
package pty

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudoterminal that runs one command.
type Terminal struct {
	test   *testing.T
	master *os.File

	mutex   sync.Mutex
	changed *sync.Cond
	output  []byte
	ended   bool
}

// Start runs a command on a terminal of this size until the test ends.
func Start(t *testing.T, columns, rows uint16, command *exec.Cmd) *Terminal {
	t.Helper()
	master, slave, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	terminal := &Terminal{test: t, master: master}
	terminal.changed = sync.NewCond(&terminal.mutex)
	terminal.Resize(columns, rows)
	command.Stdin, command.Stdout, command.Stderr = slave, slave, slave
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go terminal.read()
	stop := context.AfterFunc(t.Context(), func() { _ = command.Process.Kill() })
	t.Cleanup(func() {
		stop()
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		_ = master.Close()
	})
	return terminal
}

// Input returns a terminal on which the text was already typed, as the standard input of a command in
// this process. The terminal is closed when the test ends.
func Input(t *testing.T, text string) *os.File {
	t.Helper()
	master, slave, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = slave.Close(), master.Close() })
	if _, err := master.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return slave
}

func open() (master, slave *os.File, err error) {
	// Nonblocking, so that closing the file interrupts a read.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening /dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlocking the terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the terminal: %w", err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	return master, slave, err
}

// Resize changes the size and signals the command.
func (t *Terminal) Resize(columns, rows uint16) {
	t.test.Helper()
	raw, err := t.master.SyscallConn()
	if err != nil {
		t.test.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	})
	if err != nil || failed != nil {
		t.test.Fatal(err, failed)
	}
}

func (t *Terminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := t.master.Read(buffer)
		t.mutex.Lock()
		t.output = append(t.output, buffer[:n]...)
		t.ended = err != nil
		t.changed.Broadcast()
		t.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// Type writes text as keyboard input.
func (t *Terminal) Type(text string) {
	t.test.Helper()
	if _, err := t.master.WriteString(text); err != nil {
		t.test.Fatal(err)
	}
}

// WaitFor waits for output that matches pattern. It returns all output since the last call, up to
// the end of the match.
func (t *Terminal) WaitFor(pattern string) string {
	t.test.Helper()
	wanted := regexp.MustCompile(pattern)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for {
		if at := wanted.FindIndex(t.output); at != nil {
			shown := bytes.Clone(t.output[:at[1]])
			t.output = t.output[at[1]:]
			return string(shown)
		}
		if t.ended {
			t.test.Fatalf("the program has ended without %q:\n%q", pattern, t.output)
		}
		t.changed.Wait()
	}
}

// WaitEnd waits until the command has ended and returns the remaining output.
func (t *Terminal) WaitEnd() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for !t.ended {
		t.changed.Wait()
	}
	return string(t.output)
}
