// SPDX-License-Identifier: Apache-2.0

// Package netns creates a network namespace for the test environment. One OS thread of this
// process and one descriptor hold the namespace, so the kernel removes it when the process ends
// for any reason.
package netns

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace with one OS thread inside. That thread runs all functions that
// need the namespace.
type Namespace struct {
	handle *os.File
	tasks  chan func()
	ended  chan struct{}
}

// New creates a namespace and sets its loopback interface up. It needs CAP_SYS_ADMIN and
// CAP_NET_ADMIN. Close removes the namespace.
func New() (*Namespace, error) {
	n := &Namespace{tasks: make(chan func()), ended: make(chan struct{})}
	entered := make(chan error, 1)
	go n.run(entered)
	if err := <-entered; err != nil {
		return nil, err
	}
	if err := n.Do(loopbackUp); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// run never unlocks the goroutine from its thread. A thread that has changed its namespace must
// not run other goroutines, and the processes started from it end with it (Pdeathsig refers to
// the thread).
func (n *Namespace) run(entered chan<- error) {
	runtime.LockOSThread()
	defer close(n.ended)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		entered <- fmt.Errorf("making a network namespace (this needs root): %w", err)
		return
	}
	handle, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		entered <- fmt.Errorf("holding the network namespace: %w", err)
		return
	}
	n.handle = handle
	entered <- nil
	for task := range n.tasks {
		task()
	}
}

// Path returns a path with which any process of this host can enter the namespace ("nsenter
// --net=PATH") while this process runs.
func (n *Namespace) Path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.handle.Fd())
}

// Do runs fn on the namespace's thread and returns its error. Calls run one at a time, so fn must
// not block for long.
func (n *Namespace) Do(fn func() error) error {
	result := make(chan error, 1)
	n.tasks <- func() { result <- fn() }
	return <-result
}

// Start starts a command inside the namespace. The kernel kills the command
// when this process exits.
func (n *Namespace) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &unix.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // this process handles a terminal's Ctrl-C
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	return n.Do(cmd.Start)
}

// Listen opens a TCP listener inside the namespace.
func (n *Namespace) Listen(address string) (net.Listener, error) {
	var listener net.Listener
	err := n.Do(func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	return listener, err
}

// Dial connects to a literal TCP address from inside the namespace.
func (n *Namespace) Dial(ctx context.Context, address string) (net.Conn, error) {
	var conn net.Conn
	err := n.Do(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// Close ends the namespace's thread and closes the descriptor. The kernel removes the namespace
// when no other process uses it.
func (n *Namespace) Close() error {
	close(n.tasks)
	<-n.ended
	return n.handle.Close()
}
