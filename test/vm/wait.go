// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// WaitSSH waits until the machine responds on the control channel, or on the uplink with Config.Disk.
func (m *Machine) WaitSSH(ctx context.Context) error {
	if m.cfg.Disk != "" {
		return m.waitUplink(ctx)
	}
	for began := time.Now(); ; {
		// The limit is a tenth of the elapsed time: short while the guest boots, and sufficient
		// on a busy host.
		err := m.checkSSHBanner(ctx, max(time.Second, time.Since(began)/10))
		if err == nil {
			err = m.Connect(ctx)
		}
		if err == nil {
			return nil
		}
		if m.qemu.Ended() {
			return fmt.Errorf("waiting for ssh: qemu has ended: %w (see %s)", m.qemu.Err(), m.Console())
		}
		if sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("waiting for ssh: %w; the last attempt: %w (see %s)", context.Cause(ctx), err, m.Console())
		}
	}
}

// checkSSHBanner returns an error unless sshd sends its banner within the limit. QEMU accepts the
// connection in any case, and ssh would wait long for a guest that does not listen yet.
func (m *Machine) checkSSHBanner(ctx context.Context, limit time.Duration) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.control)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 4))
	return err
}

// WaitBoot waits until systemd has no pending jobs. It returns systemd's state: running, or
// degraded if a unit has failed.
func (m *Machine) WaitBoot(ctx context.Context) (string, error) {
	if err := m.WaitSSH(ctx); err != nil {
		return "", err
	}
	result, err := m.Run(ctx, "systemctl is-system-running --wait")
	return strings.TrimSpace(result.Stdout), err
}

// Await waits until a command succeeds in the machine. The error contains the last output of the command. Each attempt
// takes a second or more, so the limit grows with a slow machine.
func (c *Channel) Await(ctx context.Context, command string) error {
	loop := fmt.Sprintf("for i in $(seq %d); do last=$( ( %s\n) 2>&1 ) && exit 0; sleep 1; done; echo \"$last\"; exit 1",
		int(waittest.Timeout.Seconds()), command)
	result, err := c.Run(ctx, loop)
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("it still fails: %s", result.Stdout)
	}
	if err != nil {
		return fmt.Errorf("waiting until %q succeeds in the machine: %w", command, err)
	}
	return nil
}
