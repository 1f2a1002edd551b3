// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// partSuffix is the suffix of a directory that BuildDirectory has not completed.
const partSuffix = ".part"

// BuildDirectory creates the directory name with mode 0755 and the contents that fill writes. Its
// parents are created. The directory gets its name only when it is complete and durable. An existing
// directory is an error (fs.ErrExist); what an interrupted run left is removed.
func BuildDirectory(name string, fill func(dir string) error) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("creating %s: %w", name, fs.ErrExist)
	}
	building := name + partSuffix
	if err := RemoveSynced(building); err != nil {
		return err
	}
	if err := os.MkdirAll(building, 0o755); err != nil { //nolint:gosec // programs for all users
		return fmt.Errorf("creating %s: %w", name, err)
	}
	err := fill(building)
	if err == nil {
		err = publish(building, name)
	}
	if err != nil {
		return errors.Join(err, RemoveSynced(building))
	}
	return nil
}

// publish makes a directory durable and gives it its name.
func publish(building, name string) error {
	parent := filepath.Dir(name)
	tree, err := OpenTree(parent)
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := tree.SyncFileSystem("/"); err != nil {
		return err
	}
	if err := os.Rename(building, name); err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	return tree.SyncDir("/")
}

// RemovePart removes what an interrupted BuildDirectory left of the directory name.
func RemovePart(name string) error { return RemoveSynced(name + partSuffix) }

// NewScratchDirectory creates an empty directory with mode 0700 below dir.
func NewScratchDirectory(dir string) (string, error) {
	name, err := os.MkdirTemp(dir, "scratch-")
	return name, wrap.Errorf(err, "creating a temporary directory")
}

// SetLabels sets the SELinux labels of files below dir, by their paths in it.
func SetLabels(dir string, labels map[string][]byte) error {
	for name, label := range labels {
		if err := unix.Lsetxattr(filepath.Join(dir, name), SELinuxXattr, label, 0); err != nil {
			return fmt.Errorf("labeling %s: %w", filepath.Join(dir, name), err)
		}
	}
	return nil
}
