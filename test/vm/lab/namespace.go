// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// namespace is a network namespace that a sleeping process keeps open.
type namespace struct {
	path   string
	holder *child.Child
}

func newNamespace(ctx context.Context) (namespace, error) {
	holder := exec.Command("sleep", "infinity") // ends with the lab
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	started, err := child.Start(holder)
	if err != nil {
		return namespace{}, err
	}
	n := namespace{path: fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid), holder: started}
	return n, n.ip(ctx, "link", "set", "lo", "up")
}

func (n namespace) close() {
	if n.holder != nil {
		n.holder.Kill()
	}
}

// command returns a command to run in the namespace.
func (n namespace) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + n.path, name}, args...)...)
}

// run runs a command in the namespace, which must succeed.
func (n namespace) run(ctx context.Context, name string, args ...string) error {
	out, err := n.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func (n namespace) ip(ctx context.Context, args ...string) error {
	return n.run(ctx, "ip", args...)
}

func (n namespace) sysctl(ctx context.Context, settings ...string) error {
	return n.run(ctx, "sysctl", append([]string{"-q", "-w"}, settings...)...)
}

// do calls fn on a thread in the namespace. Sockets that fn opens stay in the namespace.
func (n namespace) do(fn func() error) error {
	result := make(chan error, 1)
	go func() {
		// Not unlocked: the runtime ends the thread with the goroutine and does not reuse it.
		runtime.LockOSThread()
		fd, err := unix.Open(n.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			result <- fmt.Errorf("opening a network namespace: %w", err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("entering a network namespace: %w", err)
			return
		}
		result <- fn()
	}()
	return <-result
}
