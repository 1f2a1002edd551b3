// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// lookup opens the directory at the clean path p. It follows symbolic links
// inside the tree, and those of unprivileged users only to directories of the
// same user. Flags are O_PATH or O_RDONLY.
//
// A path without a link takes one system call.
func (t *Tree) lookup(p string, flags int) (*os.File, error) {
	flags |= unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Openat2(int(t.root.Fd()), p, &unix.OpenHow{
		Flags:   uint64(flags), //nolint:gosec // they are constants
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, &os.PathError{Op: "openat2", Path: p, Err: err}
	}
	if err != nil { // a link, a kernel without openat2, or a seccomp filter that forbids it
		return t.lookupByComponent(p, flags)
	}
	return os.NewFile(uintptr(fd), p), nil
}

// lookupByComponent implements lookup one component at a time.
func (t *Tree) lookupByComponent(p string, flags int) (*os.File, error) {
	d := &lookupState{guard: t.GuardLinks(p), rest: strings.Split(p, "/")}
	defer d.close()
	err := d.enter(t.root, ".")
	for err == nil && len(d.rest) > 0 {
		name := d.rest[0]
		d.rest = d.rest[1:]
		switch {
		case name == "" || name == ".":
		case name == ".." && len(d.dirs) > 1:
			d.leave(len(d.dirs) - 1)
		case name != "..":
			err = d.enter(d.top().file, name)
		}
		if err == nil {
			err = d.guard.Arrive(d.top().owner, len(d.rest))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", p, err)
	}
	fd, err := unix.Openat(int(d.top().file.Fd()), ".", flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "openat", Path: p, Err: err}
	}
	return os.NewFile(uintptr(fd), p), nil
}

// maxLinks is the maximum number of symbolic links in one path, as in the
// kernel.
const maxLinks = 40

// lookupState is one lookup in progress. ".." is the directory that the lookup came
// from, even if that was moved concurrently, and never outside of the tree.
type lookupState struct {
	guard *LinkGuard
	rest  []string          // the remaining components
	dirs  []openedDirectory // the root of the tree first
	links int
}

type openedDirectory struct {
	file  *os.File
	owner int
}

func (s *lookupState) top() openedDirectory { return s.dirs[len(s.dirs)-1] }

// leave closes all directories except the first kept ones.
func (s *lookupState) leave(kept int) {
	for _, dir := range s.dirs[kept:] {
		dir.file.Close()
	}
	s.dirs = s.dirs[:kept]
}

func (s *lookupState) close() { s.leave(0) }

// enter opens an entry of directory in, which can be a link.
func (s *lookupState) enter(in *os.File, name string) error {
	opened, err := pathEntry{parent: in, base: name}.open(unix.O_PATH)
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	if err = unix.Fstat(int(opened.Fd()), &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		s.dirs = append(s.dirs, openedDirectory{file: opened, owner: int(stat.Uid)})
		return nil
	}
	defer opened.Close()
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		err = unix.ENOTDIR
	}
	if err != nil {
		return err
	}
	target, err := readLink(opened)
	if err != nil {
		return err
	}
	return s.follow(name, target, int(stat.Uid))
}

// follow inserts the components of a link before the remaining ones.
func (s *lookupState) follow(name, target string, owner int) error {
	if s.links++; s.links > maxLinks {
		return unix.ELOOP
	}
	if err := s.guard.Follow(name, s.top().owner, owner, len(s.rest)); err != nil {
		return err
	}
	if path.IsAbs(target) {
		s.leave(1)
	}
	s.rest = slices.Concat(strings.Split(target, "/"), s.rest)
	return nil
}
