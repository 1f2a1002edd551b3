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
// does not affect the others.
func RemoveSynced(paths ...string) error {
	var errs []error
	parents := map[string]bool{}
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", p, err))
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
