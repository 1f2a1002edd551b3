// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// The calls in this file and in Batch change the host. Only the ledger calls
// them, after it has recorded the previous state. Their changes are durable
// after Sync of a Batch that Touch was called on.

// Mkdir creates directory p, or sets owner and mode of an existing one. The
// parent must exist.
func (t *Tree) Mkdir(p string, attr Attr) error {
	err := t.setAttr(p, attr, unix.O_RDONLY|unix.O_DIRECTORY)
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	where, err := t.openParent(p)
	if err != nil {
		return err
	}
	defer where.parent.Close()
	return wrap.Errorf(newDirectory(where, attr), "creating directory %s", p)
}

func newDirectory(where pathEntry, attr Attr) error {
	create := func(name string) error { return unix.Mkdirat(where.fd(), name, 0o700) }
	return replace(where, create, func(temporary pathEntry) error {
		dir, err := temporary.open(unix.O_RDONLY | unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer dir.Close()
		return attr.set(dir)
	})
}

// MkdirAll creates p and its missing parents with mode 0755, owned by the user
// of this process.
func (t *Tree) MkdirAll(p string) error {
	missing, err := t.MissingDirs(p)
	for _, dir := range missing {
		err = errors.Join(err, t.Mkdir(dir, AgentAttr(0o755)))
	}
	return err
}

// MissingDirs returns the directories that MkdirAll(p) would create, outermost
// first.
func (t *Tree) MissingDirs(p string) ([]string, error) {
	var missing []string
	for p = path.Clean("/" + p); p != "/"; p = path.Dir(p) {
		dir, err := t.lookup(p, unix.O_PATH)
		if err == nil {
			dir.Close()
			break
		}
		if !IsNotExist(err) {
			return nil, fmt.Errorf("opening %s: %w", p, err)
		}
		missing = append([]string{p}, missing...)
	}
	return missing, nil
}

// Symlink creates a symbolic link to target at p, and replaces an existing link
// or file in one rename.
func (t *Tree) Symlink(target, p string, attr Attr) error {
	where, err := t.openParent(p)
	if err != nil {
		return err
	}
	defer where.parent.Close()
	create := func(name string) error { return unix.Symlinkat(target, where.fd(), name) }
	return wrap.Errorf(replace(where, create, attr.setLink), "linking %s", p)
}

// HardLink makes p another name of the file target, and replaces an existing
// link or file in one rename.
func (t *Tree) HardLink(target, p string) error {
	from, err := t.openParent(target)
	if err != nil {
		return err
	}
	defer from.parent.Close()
	to, err := t.openParent(p)
	if err != nil {
		return err
	}
	defer to.parent.Close()
	name, err := makeTemporary(to, func(name string) error { return unix.Linkat(from.fd(), from.base, to.fd(), name, 0) })
	if err != nil {
		return fmt.Errorf("linking %s to %s: %w", p, target, err)
	}
	err = unix.Renameat(to.fd(), name, to.fd(), to.base)
	// A rename to another name of the same file does nothing and succeeds.
	_ = unix.Unlinkat(to.fd(), name, 0)
	return wrap.Errorf(err, "linking %s", p)
}

// SetAttr sets owner, mode and attributes of the file or directory at p.
func (t *Tree) SetAttr(p string, attr Attr) error {
	return t.setAttr(p, attr, unix.O_RDONLY|unix.O_NONBLOCK)
}

func (t *Tree) setAttr(p string, attr Attr, flags int) error {
	where, err := t.openParent(p)
	if err != nil {
		return err
	}
	defer where.parent.Close()
	file, err := where.open(flags)
	if err != nil {
		return fmt.Errorf("opening %s: %w", p, err)
	}
	defer file.Close()
	attr.Label = nil
	return wrap.Errorf(attr.set(file), "setting owner and mode of %s", p)
}

// Remove deletes the file, link or empty directory at p. A missing p is not an
// error.
func (t *Tree) Remove(p string) error {
	return t.inExisting(p, "removing", pathEntry.remove)
}

// remove deletes the file, link or empty directory. A missing file is not an error.
func (p pathEntry) remove() error {
	err := unix.Unlinkat(p.fd(), p.base, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(p.fd(), p.base, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
