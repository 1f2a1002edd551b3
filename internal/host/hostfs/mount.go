// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// ReadOnlyDirectory returns the directory in which the file at path would be created, if it is in a file system that is
// mounted read-only, else "". Parents that do not exist count as created.
func ReadOnlyDirectory(path string) string {
	for {
		path = filepath.Dir(path)
		err := unix.Access(path, unix.W_OK)
		switch {
		case errors.Is(err, unix.EROFS):
			return path
		case !errors.Is(err, os.ErrNotExist) || path == "/":
			return ""
		}
	}
}

// Unmount unmounts the file system at a mount point of the running host. It is
// never lazy: a busy file system remains mounted and is an error.
func Unmount(point string) error {
	return wrap.Errorf(unix.Unmount(point, unix.UMOUNT_NOFOLLOW), "unmounting %s", point)
}

// DetachNamespace unmounts a namespace that is mounted on a file, as CRI-O does
// for the network namespaces of pods, and keeps the file. The kernel frees the
// namespace with its last process and its last open file. DetachNamespace
// reports whether a namespace was mounted; any other path remains unchanged.
//
// The unmount is lazy, because CRI-O keeps the file open, and safe, because a
// file has no mounts below it.
func DetachNamespace(path string) (bool, error) {
	var stat unix.Statfs_t
	err := unix.Statfs(path, &stat)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the mounts on %s: %w", path, err)
	}
	if stat.Type != unix.NSFS_MAGIC {
		return false, nil
	}
	if err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return false, fmt.Errorf("unmounting the namespace on %s: %w", path, err)
	}
	return true, nil
}
