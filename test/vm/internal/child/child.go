// Package child runs processes that never outlive this one.
package child

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Child is a running process that the kernel kills when this one dies.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended; err is set before
	err  error
}

// Start starts cmd. The parent in Pdeathsig's sense is an OS thread, so
// one thread is kept for each child until it ends (golang/go#27505).
func Start(cmd *exec.Cmd) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true // Ctrl-C at a terminal is for this process to handle
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

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err tells, once the process has ended, how it did.
func (c *Child) Err() error { return c.err }

// Ended tells whether the process has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// EndsWithin waits for the process to end by itself.
func (c *Child) EndsWithin(limit time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// Kill ends the process and waits until it has.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended
	<-c.done
}
