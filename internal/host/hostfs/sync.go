// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// SyncDir makes entries durable that were created in, renamed in or removed
// from directory p.
func (t *Tree) SyncDir(p string) error {
	dir, err := t.OpenDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("syncing directory %s: %w", p, err)
	}
	return nil
}

// SyncFileSystem makes everything durable that any process has written to the
// file system of directory p. Programs that replace a file by renaming often do
// not sync it, and it can be empty after a power loss.
func (t *Tree) SyncFileSystem(p string) error {
	dir, err := t.OpenDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("syncing the file system of %s: %w", p, err)
	}
	return nil
}
