// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// seedBytes is the size of a machine's second disk, that of a floppy disk. The disk is empty
// until Seed is called.
const seedBytes = 1440 << 10

// Seed writes files, given by name, to the machine's second disk, as a cloud provides them to
// cloud-init (NoCloud: a file system with the label CIDATA). The guest sees them after its next
// boot and cannot change them.
func (m *Machine) Seed(ctx context.Context, files map[string]string) (err error) {
	dir, err := os.MkdirTemp(m.cfg.Dir, "seed")
	if err != nil {
		return fmt.Errorf("making the seed disk: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	disk := filepath.Join(dir, "disk")
	if err := blankSeed(disk); err != nil {
		return err
	}
	if err := run(ctx, "mkfs.vfat", "-n", "CIDATA", disk); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("making the seed disk: %w", err)
		}
		if err := run(ctx, "mcopy", "-i", disk, path, "::"+name); err != nil {
			return err
		}
	}
	content, err := os.ReadFile(disk)
	if err != nil {
		return fmt.Errorf("making the seed disk: %w", err)
	}
	// Overwrite in place, because QEMU has the file open.
	if err := os.WriteFile(m.seed(), content, 0o600); err != nil {
		return fmt.Errorf("making the seed disk: %w", err)
	}
	return nil
}

func (m *Machine) seed() string { return filepath.Join(m.cfg.Dir, "seed.img") }

// blankSeed creates an empty disk.
func blankSeed(path string) error {
	if err := os.WriteFile(path, make([]byte, seedBytes), 0o600); err != nil {
		return fmt.Errorf("making the seed disk: %w", err)
	}
	return nil
}
