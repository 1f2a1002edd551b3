// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Running reports whether the machine runs.
func (m *Machine) Running() bool { return m.qemu != nil && !m.qemu.Ended() }

// Reboot reboots the machine with systemctl and waits until it has booted.
func (m *Machine) Reboot(ctx context.Context) error {
	if err := m.Restart(ctx); err != nil {
		return err
	}
	_, err := m.WaitBoot(ctx)
	return err
}

// Restart reboots the machine like Reboot, but does not wait for units that are still starting.
func (m *Machine) Restart(ctx context.Context) error {
	return m.RestartBy(ctx, func() error {
		_, err := m.Output(ctx, "systemctl --no-block reboot")
		return err
	})
}

// RestartBy is like Restart, for a command of the guest that reboots it.
func (m *Machine) RestartBy(ctx context.Context, request func() error) error {
	before, err := m.bootID(ctx)
	if err != nil {
		return err
	}
	if err := request(); err != nil {
		return err
	}
	// The old system accepts new connections until it has closed the existing one.
	if err := m.awaitClosed(ctx); err != nil {
		return fmt.Errorf("waiting for the machine to go down: %w", err)
	}
	if err := m.WaitSSH(ctx); err != nil {
		return err
	}
	after, err := m.bootID(ctx)
	if err == nil && after == before {
		err = errors.New("vm: the machine closed its connections and did not reboot")
	}
	return err
}

func (m *Machine) bootID(ctx context.Context) (string, error) {
	return m.Output(ctx, "cat /proc/sys/kernel/random/boot_id")
}

// PowerOff shuts the machine down with systemctl and waits until it is off.
func (m *Machine) PowerOff(ctx context.Context) error {
	if _, err := m.Output(ctx, "systemctl --no-block poweroff"); err != nil {
		return err
	}
	select {
	case <-m.qemu.Done():
		m.stop()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the machine to power off: %w", context.Cause(ctx))
	}
}

// Kill cuts the machine's power. The disk then contains every write that the guest has sent to
// it, flushed or not, and nothing that was only in the guest's memory. [Machine.Boot] starts it
// again.
func (m *Machine) Kill(ctx context.Context) error {
	if !m.Running() {
		return errors.New("vm: the machine is not running")
	}
	// QEMU stops the CPUs immediately and then closes the disk, whose format keeps tables in
	// QEMU's memory. Killing QEMU itself would lose flushed writes of the guest, which a power
	// cut does not.
	_ = m.qmp.execute(ctx, "quit", nil, nil) // QEMU may exit before it responds
	orderly := m.qemu.EndsWithin(waittest.Timeout)
	m.stop()
	if !orderly {
		return errors.New("vm: qemu did not quit and was killed: its disk cannot be trusted")
	}
	return nil
}

// Close stops the machine and removes its files. Logs in a directory that the caller gave are
// kept.
func (m *Machine) Close() error {
	m.stop()
	err := errors.Join(os.RemoveAll(m.sockets), os.RemoveAll(m.disk()), os.RemoveAll(m.seed()))
	if m.ownsDir {
		err = errors.Join(err, os.RemoveAll(m.cfg.Dir))
	}
	return err
}

// stop ends the machine's processes on the host.
func (m *Machine) stop() {
	if m.uplink != nil {
		m.uplink.Disconnect()
		m.uplink = nil
	}
	if m.Channel != nil {
		m.Disconnect()
	}
	if m.qemu != nil {
		m.qemu.Kill()
	}
	if m.qmp != nil {
		m.qmp.close()
	}
}

// sleep waits for d, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
