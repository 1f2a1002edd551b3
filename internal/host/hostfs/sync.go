// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// SkipSyncs makes the syncs of the tree and of its batches return without a sync, for a tree that no machine
// runs from. A kill of the process loses nothing that was written, because the kernel has it. A power failure
// can lose any of it. SkipSyncs has no effect on the running host.
func (t *Tree) SkipSyncs() { t.skipsSyncs = !t.IsLive() }

// SkipsSyncs reports whether SkipSyncs was called.
func (t *Tree) SkipsSyncs() bool { return t.skipsSyncs }

// SyncDir makes entries durable that were created in, renamed in or removed
// from directory p.
func (t *Tree) SyncDir(p string) error {
	if t.skipsSyncs {
		return nil
	}
	dir, err := t.OpenDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	return wrap.Errorf(dir.Sync(), "syncing directory %s", p)
}

// SyncFileSystem makes everything durable that any process has written to the
// file system of directory p. Programs that replace a file by renaming often do
// not sync it, and it can be empty after a power loss.
func (t *Tree) SyncFileSystem(p string) error {
	if t.skipsSyncs {
		return nil
	}
	dir, err := t.OpenDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	return wrap.Errorf(unix.Syncfs(int(dir.Fd())), "syncing the file system of %s", p)
}

// SyncFileSystems is SyncFileSystem for several directories, of which some need not exist.
func (t *Tree) SyncFileSystems(dirs ...string) error {
	var errs []error
	for _, dir := range dirs {
		if err := t.SyncFileSystem(dir); !IsNotExist(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
