package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Create makes the file name, for its user alone, with what fill writes. It has
// its name only when it is whole and durable, and never takes the place of
// something that is there: then the error is fs.ErrExist.
func Create(name string, fill func(io.Writer) error) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("making %s: %w", name, fs.ErrExist)
	}
	dir := filepath.Dir(name)
	file, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*") // 0600
	if err != nil {
		return fmt.Errorf("making %s: %w", name, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // what was renamed is not there any more
	defer file.Close()
	if err := fill(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := rename(file.Name(), name); err != nil {
		return fmt.Errorf("making %s: %w", name, err)
	}
	tree, err := OpenTree(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncDir("/")
}

// rename gives a file its name where nothing has it. Some file systems, NFS
// among them, know no such rename, but a second name for a file.
func rename(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return os.Link(from, to)
	}
	return err
}
