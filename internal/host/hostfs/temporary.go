// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// A new file is created completely under a temporary name in the target
// directory and then renamed, so that it never exists without its content,
// owner, mode and label.

// temporaryName returns the temporary name for a target in the same directory.
// It only depends on the target, so that a later run finds the file of a killed
// one.
func temporaryName(base string) string {
	sum := sha256.Sum256([]byte(base))
	return ".hcp-node-agent." + hex.EncodeToString(sum[:8])
}

// makeTemporary creates a file beside where. If creation fails because a killed
// run has left its file, which is rare, it removes that file and tries again.
func makeTemporary(where pathEntry, make func(name string) error) (string, error) {
	name := temporaryName(where.base)
	err := make(name)
	if errors.Is(err, unix.EEXIST) {
		if err = (pathEntry{where.parent, name}).remove(); err == nil {
			err = make(name)
		}
	}
	return name, err
}

// replace creates a file beside where, completes it, and renames it to where.
func replace(where pathEntry, create func(name string) error, complete func(pathEntry) error) error {
	name, err := makeTemporary(where, create)
	if err != nil {
		return err
	}
	temporary := pathEntry{where.parent, name}
	if err = complete(temporary); err == nil {
		err = unix.Renameat(where.fd(), name, where.fd(), where.base)
	}
	if err != nil {
		_ = temporary.remove() // best effort; err is returned
	}
	return err
}

// createTemporary opens a new file beside where.
func createTemporary(where pathEntry) (file *os.File, name string, err error) {
	name, err = makeTemporary(where, func(name string) error {
		fd, err := unix.Openat(where.fd(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err == nil {
			file = os.NewFile(uintptr(fd), name)
		}
		return err
	})
	return file, name, err
}

// writeContent writes the content and attributes of a new file. The file was created
// with mode 0600 and gets its owner before its mode, so that a secret is never
// readable by others.
func writeContent(file *os.File, content []byte, attr Attr) error {
	if _, err := file.Write(content); err != nil {
		return err
	}
	return attr.set(file)
}

// RemoveTemporary removes the file that a killed run has left beside p.
func (t *Tree) RemoveTemporary(p string) error {
	name := temporaryName(path.Base(path.Clean("/" + p)))
	doing := "removing " + name + ", which an interrupted run left beside"
	return t.inExisting(p, doing, func(where pathEntry) error { return pathEntry{where.parent, name}.remove() })
}
