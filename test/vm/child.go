package vm

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a running process that the kernel kills when this one dies.
type child struct {
	cmd *exec.Cmd
	// done is closed when the process has ended; err is set before.
	done chan struct{}
	err  error
}

// startChild starts cmd. The parent in Pdeathsig's sense is an OS thread, so
// one thread is kept for each child until it ends (golang/go#27505).
func startChild(cmd *exec.Cmd) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true // Ctrl-C at a terminal is for this process to handle
	c := &child{cmd: cmd, done: make(chan struct{})}
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

// ended tells whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// endsWithin waits for the process to end by itself.
func (c *child) endsWithin(limit time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// kill ends the process and waits until it has.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended
	<-c.done
}
