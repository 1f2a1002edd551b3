// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Create creates the file name with mode 0600 and the content that fill writes.
// The file gets its name only when it is complete and durable. Create never
// replaces an existing file: the error is then fs.ErrExist.
func Create(name string, fill func(io.Writer) error) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("creating %s: %w", name, fs.ErrExist)
	}
	dir := filepath.Dir(name)
	file, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*") // 0600
	if err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // does nothing after the rename
	defer file.Close()
	if err := fill(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := renameNoReplace(file.Name(), name); err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	tree, err := OpenTree(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncDir("/")
}

// renameNoReplace renames a file without replacing an existing one. Some file systems,
// such as NFS, do not support that but support hard links.
func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return os.Link(from, to)
	}
	return err
}
