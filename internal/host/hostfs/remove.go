// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// RemoveSynced removes files, and directories with all their contents, by their
// paths on the running host. The removals are durable when RemoveSynced
// returns, on any file system. A missing path is not an error, but its removal
// by an earlier, interrupted run is made durable too. An error with one path
// does not affect the others, nor does RemoveSynced remove a directory with a
// mount point.
func RemoveSynced(paths ...string) error {
	var errs []error
	parents := map[string]bool{}
	for _, p := range paths {
		if err := RemoveAll(p); err != nil {
			errs = append(errs, err)
		}
		parents[filepath.Dir(p)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(parents)) {
		if err := syncNearest(dir); err != nil {
			errs = append(errs, fmt.Errorf("syncing directory %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// RemoveAll is os.RemoveAll, but removes nothing from a directory in which a file system is mounted.
func RemoveAll(p string) error {
	if info, err := os.Lstat(p); err == nil && info.IsDir() {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return fmt.Errorf("removing %s: %w", p, err)
		}
		mounts, err := mountsOf(real)
		if err != nil {
			return err
		}
		if len(mounts) > 0 {
			return fmt.Errorf("removing %s: a file system is mounted at %s, so nothing was removed; unmount it (umount %s)",
				p, mounts[0], mounts[0])
		}
	}
	if err := os.RemoveAll(p); err != nil {
		return fmt.Errorf("removing %s: %w", p, err)
	}
	return nil
}

// syncNearest syncs directory dir, or its nearest existing parent.
func syncNearest(dir string) error {
	opened, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return syncNearest(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.Sync()
}
