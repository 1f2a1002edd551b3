// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Channel is an ssh connection to the machine that any number of commands share. Under emulation,
// a new connection takes a second, and a command on an existing one a third of a second. Channel
// connects on first use, and again after the connection is lost.
type Channel struct {
	namespaceCommand []string // command prefix that enters the namespace to connect from
	options          []string
	address          string
	socket           string

	mu     sync.Mutex
	master *child.Child
}

// newChannel returns a channel to address:port. The socket of ssh's master process is created in
// dir, whose path must be short.
func newChannel(image, dir, name string, enter []string, address, port string) *Channel {
	return &Channel{
		namespaceCommand: enter,
		address:          "root@" + address,
		socket:           filepath.Join(dir, name),
		options: []string{
			"-F", "/dev/null", "-p", port, "-o", "BatchMode=yes",
			"-i", filepath.Join(image, "id_ed25519"), "-o", "IdentitiesOnly=yes",
			"-o", "UserKnownHostsFile=" + filepath.Join(image, "known_hosts"),
			"-o", "HostKeyAlias=machine", "-o", "StrictHostKeyChecking=yes",
			"-o", "ConnectTimeout=15", "-o", "LogLevel=ERROR",
			"-o", "ControlPath=" + filepath.Join(dir, name),
		},
	}
}

func (c *Channel) ssh(ctx context.Context, args ...string) *exec.Cmd {
	args = append(append(append([]string{}, c.namespaceCommand...), "ssh"), append(c.options, args...)...)
	return exec.CommandContext(ctx, args[0], args[1:]...)
}

// Command returns the shell command with which a user on the host opens another session through
// this channel.
func (c *Channel) Command() string {
	return strings.Join(c.ssh(context.Background(), c.address).Args, " ")
}

// sshErrorCode is ssh's exit code for its own errors. A command's exit code 255 is
// indistinguishable.
const sshErrorCode = 255

// RunStream runs a shell command in the machine and returns its exit code. Each of in, out and
// errs may be nil. It returns an error if the exit code is unknown: there was no connection, or
// ctx ended, in which case the command continues to run.
func (c *Channel) RunStream(ctx context.Context, command string, in io.Reader, out, errs io.Writer) (int, error) {
	if err := c.Connect(ctx); err != nil {
		return -1, err
	}
	cmd := c.ssh(ctx, "-o", "ControlMaster=no", c.address, "--", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return -1, fmt.Errorf("waiting for %q in the machine: %w", command, context.Cause(ctx))
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() != sshErrorCode:
		return exit.ExitCode(), nil
	default:
		return -1, fmt.Errorf("running %q in the machine: the connection was lost: %w", command, err)
	}
}
