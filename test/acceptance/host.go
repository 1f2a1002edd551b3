// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/hoststate"
)

// host is a host to which commands are sent over one ssh connection.
type host struct {
	address string
	command []string // ssh with its options
	dir     string   // of the control socket
}

// connect checks that the host can be reached as root.
func connect(ctx context.Context, ssh, address string) (*host, error) {
	dir, err := os.MkdirTemp("", "acceptance-")
	if err != nil {
		return nil, err
	}
	h := &host{address: address, dir: dir, command: append(strings.Fields(ssh), "-o", "ControlMaster=auto",
		"-o", "ControlPath="+filepath.Join(dir, "ssh"), "-o", "ControlPersist=60", "-o", "ServerAliveInterval=5",
		"-o", "ServerAliveCountMax=24", "-o", "ConnectTimeout=15")}
	id, err := h.output(ctx, "id -u")
	if err == nil && id != "0" {
		err = fmt.Errorf("%s is not root", address)
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return h, nil
}

// close ends the connection.
func (h *host) close() {
	_ = h.ssh(context.Background(), "-O", "exit", h.address).Run() // it ends automatically, too
	_ = os.RemoveAll(h.dir)
}

func (h *host) ssh(ctx context.Context, args ...string) *exec.Cmd {
	args = slices.Concat(h.command[1:], args)
	return exec.CommandContext(ctx, h.command[0], args...)
}

// exit describes the end of a command on the host.
type exit struct {
	code     int
	output   string // of both streams
	duration time.Duration
}

// disconnected is the exit code of ssh if the connection fails.
const disconnected = 255

// run runs a script of the shell with standard input, and copies its output to w. It fails if the host does not
// respond.
func (h *host) run(ctx context.Context, script string, stdin io.Reader, w io.Writer) (exit, error) {
	var all bytes.Buffer
	command := h.ssh(ctx, h.address, script)
	command.Stdin = stdin
	command.Stdout, command.Stderr = io.MultiWriter(w, &all), io.MultiWriter(w, &all)
	began := time.Now()
	err := command.Run()
	ended := exit{command.ProcessState.ExitCode(), all.String(), time.Since(began)}
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ended, context.Cause(ctx)
	case errors.As(err, &failed) && ended.code != disconnected:
		return ended, nil
	}
	return ended, err
}

// output runs a script of the shell and returns its output. It fails if the script does.
func (h *host) output(ctx context.Context, script string) (string, error) {
	ended, err := h.run(ctx, script, nil, io.Discard)
	if err == nil && ended.code != 0 {
		err = fmt.Errorf("exit code %d", ended.code)
	}
	if err != nil {
		return "", fmt.Errorf("running a command on %s: %w: %s", h.address, err, strings.TrimSpace(ended.output))
	}
	return strings.TrimSpace(ended.output), nil
}

// put creates a file on the host that only root can read.
func (h *host) put(ctx context.Context, from, to string) error {
	content, err := os.Open(from)
	if err != nil {
		return err
	}
	defer content.Close()
	ended, err := h.run(ctx, "umask 077; cat >"+to, content, io.Discard)
	if err == nil && ended.code != 0 {
		err = errors.New(strings.TrimSpace(ended.output))
	}
	if err != nil {
		return fmt.Errorf("copying %s to %s: %w", from, h.address, err)
	}
	return nil
}

// state returns the state of the host that a join changes, as lines.
func (h *host) state(ctx context.Context) ([]string, error) {
	out, err := h.output(ctx, hoststate.Script)
	if err != nil {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}

// reboot reboots the host, and waits until it responds again.
func (h *host) reboot(ctx context.Context) error {
	const bootID = "cat /proc/sys/kernel/random/boot_id"
	before, err := h.output(ctx, bootID)
	if err != nil {
		return err
	}
	_, _ = h.run(ctx, "systemctl reboot", nil, io.Discard) // the connection may end before the command
	for {
		attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
		now, err := h.output(attempt, bootID)
		cancel()
		if err == nil && now != before {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to boot: %w", h.address, context.Cause(ctx))
		case <-time.After(2 * time.Second):
		}
	}
}
