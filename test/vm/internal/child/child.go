// SPDX-License-Identifier: Apache-2.0

// Package child runs child processes that never outlive this process.
package child

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Child is a running process that the kernel kills when this process ends.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended; err is set before
	err  error
}

// Start starts cmd. The parent in the sense of Pdeathsig is an OS thread, so Start reserves one
// thread for each child until the child ends (golang/go#27505).
func Start(cmd *exec.Cmd) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true // this process handles Ctrl-C at a terminal
	c := &Child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return c, nil
}

// Done returns a channel that is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err returns the result of the process after it has ended.
func (c *Child) Err() error { return c.err }

// Ended reports whether the process has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// EndsWithin waits for the process to end, and reports whether it ended within limit.
func (c *Child) EndsWithin(limit time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// Kill kills the process and waits until it has ended.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // fails only if the process has already ended
	<-c.done
}
