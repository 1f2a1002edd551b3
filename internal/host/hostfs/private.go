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

// WritePrivate writes one of the agent's own files atomically and durably with
// mode 0600, and creates a missing directory with mode 0700.
func WritePrivate(dir, name string, content []byte) error {
	return writeAgentFile(dir, name, content, 0o700, 0o600)
}

// WriteReadable writes one of the agent's own files atomically and durably with
// mode 0644, and creates a missing directory with mode 0755.
func WriteReadable(dir, name string, content []byte) error {
	return writeAgentFile(dir, name, content, 0o755, 0o644)
}

// CheckReplaceable returns an error if something other than a regular file exists at a path that a user has named. A
// rename would replace a device, such as /dev/null, or a link.
func CheckReplaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s exists and is not a regular file; it is not replaced", path)
	}
	return err
}

func writeAgentFile(dir, name string, content []byte, dirMode os.FileMode, mode uint32) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("creating the agent's directory: %w", err)
	}
	tree, err := OpenTree(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.ReplaceFile("/"+name, content, AgentAttr(mode))
}

// PrivateDir opens directory p for the agent's own files, and creates it with
// mode 0700 if it is missing. Its name is durable after SyncFileSystem.
// PrivateDir refuses a link, a directory of another user, and one that others
// can write to, because other users could forge its files. While the returned
// file is open, /proc/self/fd/N is a path to the directory that no rename can
// change.
func (t *Tree) PrivateDir(p string) (*os.File, error) {
	where, err := t.openParent(p)
	if err != nil {
		return nil, err
	}
	defer where.parent.Close()
	made := unix.Mkdirat(where.fd(), where.base, 0o700)
	if made != nil && !errors.Is(made, unix.EEXIST) {
		return nil, fmt.Errorf("creating directory %s: %w", p, made)
	}
	dir, err := where.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("opening directory %s: %w", p, err)
	}
	info, err := infoOf(dir)
	switch {
	case err != nil:
		err = fmt.Errorf("reading the attributes of %s: %w", p, err)
	case info.UID != os.Geteuid():
		err = fmt.Errorf("directory %s is owned by user %d; remove it if it is not needed", p, info.UID)
	case info.Mode&0o022 != 0:
		err = fmt.Errorf("directory %s is writable by other users (mode %04o); remove it if it is not needed", p, info.Mode)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// CreatePrivate creates a file with mode 0600 that an administrator has named. It fails if anything has the name.
func CreatePrivate(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	return file, wrap.Errorf(err, "creating the file")
}

// OpenPrivate opens one of the agent's own files for reading and writing, and creates it with mode
// 0600 and its directory with mode 0700 if they are missing.
func OpenPrivate(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the agent's directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	return file, wrap.Errorf(err, "opening the agent's file")
}
