// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RebootByGRUB calls reboot, which must reboot the machine from within, and boots it as GRUB would:
// with the kernel arguments of the first menu entry in /boot/grub/grub.cfg on its disk, in addition to
// those of the test environment. QEMU, which loads the kernel, is started again for that. Later boots
// have the same arguments. RebootByGRUB does not wait for the boot.
func (m *Machine) RebootByGRUB(ctx context.Context, reboot func() error) error {
	if err := m.qmp.execute(ctx, "set-action", map[string]string{"reboot": "shutdown"}, nil); err != nil {
		return err
	}
	if err := reboot(); err != nil {
		return err
	}
	select {
	case <-m.qemu.Done():
	case <-ctx.Done():
		return fmt.Errorf("waiting for the machine to reboot: %w", context.Cause(ctx))
	}
	m.stop()
	var err error
	if m.cfg.KernelArguments, err = m.grubArguments(ctx); err != nil {
		return err
	}
	return m.Boot(ctx)
}

// grubArguments returns the kernel arguments in GRUB's configuration on the disk of a machine that is
// off, without those that name the root file system.
func (m *Machine) grubArguments(ctx context.Context) ([]string, error) {
	raw := filepath.Join(m.cfg.Dir, "disk.raw")
	defer func() { _ = os.Remove(raw) }() // the machine's directory is removed, too
	if err := run(ctx, "qemu-img", "convert", "-O", "raw", m.disk(), raw); err != nil {
		return nil, err
	}
	config, err := exec.CommandContext(ctx, "debugfs", "-R", "cat /boot/grub/grub.cfg", raw).Output()
	if err != nil {
		return nil, fmt.Errorf("reading GRUB's configuration: %w", err)
	}
	return parseGRUB(string(config))
}

func parseGRUB(config string) ([]string, error) {
	for line := range strings.Lines(config) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "linux" {
			continue
		}
		var arguments []string
		for _, word := range words[2:] {
			if word != "ro" && !strings.HasPrefix(word, "root=") {
				arguments = append(arguments, word)
			}
		}
		return arguments, nil
	}
	return nil, errors.New("vm: GRUB's configuration has no menu entry with a kernel")
}
