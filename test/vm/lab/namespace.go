// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

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
