// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// DiskUsage returns the total size in bytes of the regular files below paths on the running host. A
// missing path has the size 0. A link is followed if it is one of paths.
func DiskUsage(paths ...string) (int64, error) {
	var total int64
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it has been removed meanwhile
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			total += info.Size()
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("reading the size of %s: %w", path, err)
		}
	}
	return total, nil
}
