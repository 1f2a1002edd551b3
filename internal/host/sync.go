package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// SyncDir makes what was created in, renamed in or removed from directory p
// durable.
func (t *Tree) SyncDir(p string) error {
	dir, err := t.openDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("syncing directory %s: %w", p, err)
	}
	return nil
}

// SyncFileSystem makes all that was written to the file system of directory p
// durable, by whomever: a program that replaces a file by renaming often does
// not care whether the new one is empty after a power cut.
func (t *Tree) SyncFileSystem(p string) error {
	dir, err := t.openDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("syncing the file system of %s: %w", p, err)
	}
	return nil
}
