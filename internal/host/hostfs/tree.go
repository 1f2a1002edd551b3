// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Tree is a directory tree, "/" for the running host. Paths passed to its
// methods are absolute within the tree. Symbolic links in parent directories
// are followed only inside the tree, even if they change concurrently. The last
// component is never followed. Ignition resolves paths in the same way. Links
// of unprivileged users are followed only to directories of the same user.
type Tree struct {
	root        *os.File
	name        string
	owner, user int // of the root directory, and of this process
	skipsSyncs  bool
}

// OpenTree opens the directory name as a tree.
func OpenTree(name string) (*Tree, error) {
	root, err := os.OpenFile(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening root directory: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(root.Fd()), &stat); err != nil {
		root.Close()
		return nil, fmt.Errorf("opening root directory: %w", err)
	}
	return &Tree{root: root, name: path.Clean(name), owner: int(stat.Uid), user: os.Geteuid()}, nil
}

// Close releases the tree.
func (t *Tree) Close() error { return t.root.Close() }

// Name returns the directory that the tree was opened with.
func (t *Tree) Name() string { return t.name }

// IsLive reports whether the tree is the running host.
func (t *Tree) IsLive() bool { return t.name == "/" }

// pathEntry is a path as the last component in its opened parent directory.
type pathEntry struct {
	parent *os.File
	base   string
}

// openParent opens the parent of p. The caller must close place.parent.
func (t *Tree) openParent(p string) (pathEntry, error) {
	clean := path.Clean("/" + p)
	dir, base := path.Split(clean)
	if base == "" {
		return pathEntry{}, fmt.Errorf("resolving %q: the root itself has no parent", p)
	}
	parent, err := t.lookup(dir, unix.O_PATH)
	return pathEntry{parent: parent, base: base}, wrap.Errorf(err, "resolving %s", p)
}

// inExisting calls do with p in its opened parent, unless a parent is missing. An error of do begins with the text in
// doing.
func (t *Tree) inExisting(p, doing string, do func(pathEntry) error) error {
	where, err := t.openParent(p)
	if IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer where.parent.Close()
	return wrap.Errorf(do(where), "%s %s", doing, p)
}

func (p pathEntry) fd() int { return int(p.parent.Fd()) }

// ReadFile returns the content and the Info of the regular file p.
func (t *Tree) ReadFile(p string) ([]byte, Info, error) {
	where, err := t.openParent(p)
	if err != nil {
		return nil, Info{}, err
	}
	defer where.parent.Close()
	file, err := where.open(unix.O_RDONLY | unix.O_NONBLOCK)
	if err != nil {
		return nil, Info{}, fmt.Errorf("opening %s: %w", p, err)
	}
	defer file.Close()
	info, err := infoOf(file)
	if err != nil {
		return nil, Info{}, fmt.Errorf("reading %s: %w", p, err)
	}
	if info.Type != Regular {
		return nil, info, fmt.Errorf("reading %s: it is a %s, not a regular file", p, info.Type)
	}
	content := bytes.NewBuffer(make([]byte, 0, info.Size+bytes.MinRead))
	if _, err := content.ReadFrom(file); err != nil {
		return nil, info, fmt.Errorf("reading %s: %w", p, err)
	}
	return content.Bytes(), info, nil
}

// ReadDir returns the names in directory p, sorted.
func (t *Tree) ReadDir(p string) ([]string, error) {
	dir, err := t.OpenDir(p)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", p, err)
	}
	slices.Sort(names)
	return names, nil
}

// OpenDir opens directory p for reading, following links inside the tree.
func (t *Tree) OpenDir(p string) (*os.File, error) {
	dir, err := t.lookup(path.Clean("/"+p), unix.O_RDONLY)
	return dir, wrap.Errorf(err, "opening %s", p)
}

// open opens the file itself; a symbolic link is an error.
func (p pathEntry) open(flags int) (*os.File, error) {
	fd, err := unix.Openat(p.fd(), p.base, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p.base), nil
}

// Exists reports whether p exists. It does not exist if a parent is missing or
// not a directory.
func (t *Tree) Exists(p string) (bool, error) {
	info, err := t.Lstat(p)
	return err == nil && info.Type != Absent, err
}

// IsNotExist reports whether err means that a file does not exist. This includes a
// loop of symbolic links.
func IsNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// IsWithin reports whether p is dir or below it.
func IsWithin(p, dir string) bool {
	p, dir = path.Clean(p), path.Clean(dir)
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
