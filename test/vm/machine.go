// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Machine is a virtual machine with its disk, running or powered off. Commands can run
// concurrently on its channels. Its own methods are not safe for concurrent use.
type Machine struct {
	// Channel is the control channel.
	*Channel

	cfg     Config
	accel   accelerator
	sockets string // short path for the sockets of ssh
	ownsDir bool   // Dir is temporary; Close removes it
	control string // host port of the control channel while the machine runs
	uplink  *Channel
	// snapshots are the tags of the snapshots in the disk.
	snapshots []string

	qemu *child.Child
	qmp  *monitor
	// cables are the uplinks' cables, starting with eth0.
	cables []*Cable
	// missing are the uplinks whose network card is not plugged in.
	missing map[int]bool
}

// Start creates a machine with an empty overlay over the image's disk and starts it. It does not
// wait for the boot; see [Machine.WaitBoot].
func Start(ctx context.Context, cfg Config) (*Machine, error) {
	m, err := newMachine(ctx, cfg)
	if err != nil {
		return nil, err
	}
	base, format := filepath.Join(m.cfg.Image, "disk.img"), "raw"
	if m.cfg.Disk != "" {
		base, format = m.cfg.Disk, "qcow2"
	}
	if err := m.start(ctx, base, format, ""); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Execution returns how QEMU executes the machine's code: emulated or with KVM.
func (m *Machine) Execution() string {
	if m.accel == kvm {
		return "run with KVM"
	}
	return "emulated"
}

// newMachine returns a machine without a disk.
func newMachine(ctx context.Context, cfg Config) (*Machine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, missing: map[int]bool{}}
	for i, nic := range cfg.nics() {
		m.cables = append(m.cables, &Cable{machine: m, nic: i, out: nic.Unplugged})
	}
	if m.accel, err = chooseAccelerator(ctx, cfg); err != nil {
		return nil, err
	}
	if m.sockets, err = os.MkdirTemp("", "vm"); err != nil {
		return nil, fmt.Errorf("creating a directory for sockets: %w", err)
	}
	if cfg.Disk != "" {
		m.cfg.Image = m.sockets // where provision creates the keys
	}
	if m.cfg.Dir == "" {
		m.cfg.Dir, m.ownsDir = m.sockets, true
	}
	if err := os.MkdirAll(m.cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the machine's directory: %w", err)
	}
	return m, nil
}

// start creates the disk as an overlay over base and starts QEMU, from the saved state if state
// is not empty.
func (m *Machine) start(ctx context.Context, base, format, state string) error {
	if err := run(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", format, m.disk()); err != nil {
		return err
	}
	if err := blankSeed(m.seed()); err != nil {
		return err
	}
	if m.cfg.Disk != "" {
		if err := m.provision(ctx); err != nil {
			return err
		}
	}
	return m.startQEMU(ctx, state)
}

// Boot starts a machine after [Machine.Kill] or [Machine.PowerOff], with the disk unchanged.
func (m *Machine) Boot(ctx context.Context) error {
	if m.Running() {
		return fmt.Errorf("vm: %s is running", m.cfg.Name)
	}
	return m.startQEMU(ctx, "")
}

// BootSELinux boots the machine with SELinux on or off, and with kernel arguments.
func (m *Machine) BootSELinux(ctx context.Context, on bool, arguments ...string) error {
	m.cfg.SELinux, m.cfg.KernelArguments = on, arguments
	return m.Boot(ctx)
}

// Console returns the path of the serial console's log.
func (m *Machine) Console() string { return filepath.Join(m.cfg.Dir, "console.log") }

func (m *Machine) disk() string { return filepath.Join(m.cfg.Dir, "disk.qcow2") }
