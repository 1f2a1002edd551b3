// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Walk calls visit for everything below directory p, parents first, without
// following links. Only p itself can be a link to a directory. Each directory is
// opened inside its parent, so that a directory replaced by a link cannot redirect
// the walk. Walk visits mount points, but does not descend into mounts, which
// includes bind mounts of the same file system. It skips files that disappear
// during the walk.
func (t *Tree) Walk(p string, visit func(p string, info Info) error) error {
	p = path.Clean("/" + p)
	dir, err := t.lookup(p, unix.O_RDONLY)
	if IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	defer dir.Close()
	mount, err := mountID(dir)
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	return walk(dir, p, mount, visit)
}

// WalkWith is Walk for any p, which it visits first if p exists.
func (t *Tree) WalkWith(p string, visit func(p string, info Info) error) error {
	info, err := t.Lstat(p)
	if err != nil || info.Type == Absent {
		return err
	}
	if err := visit(p, info); err != nil || info.Type != Directory {
		return err
	}
	return t.Walk(p, visit)
}

// walk implements Walk for an opened directory of the mount with the ID mount.
func walk(dir *os.File, p string, mount uint64, visit func(string, Info) error) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	slices.Sort(names)
	for _, name := range names {
		inner := pathEntry{parent: dir, base: name}
		info, err := inner.info()
		if err != nil {
			return fmt.Errorf("walking %s: %w", p, err)
		}
		if info.Type == Absent {
			continue
		}
		if err := visit(path.Join(p, name), info); err != nil {
			return err
		}
		if info.Type == Directory {
			if err := descend(inner, path.Join(p, name), mount, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// descend calls walk for the directory where, unless another mount begins there.
func descend(where pathEntry, p string, mount uint64, visit func(string, Info) error) error {
	dir, err := where.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if IsNotExist(err) {
		return nil // removed, or replaced by another file type
	}
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	defer dir.Close()
	inner, err := mountID(dir)
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	if inner != mount {
		return nil
	}
	return walk(dir, p, mount, visit)
}

// mountID returns the ID of the mount through which a file was opened. Unlike the device number, it differs
// for each bind mount of a file system.
func mountID(file *os.File) (uint64, error) {
	var stat unix.Statx_t
	err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &stat)
	if err == nil && stat.Mask&unix.STATX_MNT_ID != 0 {
		return stat.Mnt_id, nil
	}
	// Kernels before 5.8, such as those of RHEL 8.
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", file.Fd()))
	if err != nil {
		return 0, fmt.Errorf("reading the mount ID: %w", err)
	}
	for line := range strings.Lines(string(info)) {
		if id, found := strings.CutPrefix(line, "mnt_id:"); found {
			return strconv.ParseUint(strings.TrimSpace(id), 10, 64)
		}
	}
	return 0, errors.New("the kernel does not report mount IDs")
}

// Mounts returns the mount points at or below directory p, deepest first. This
// includes bind mounts of the same file system, which a device number does not
// reveal. The mount points are real paths of the running host, even if links lead to p.
func (t *Tree) Mounts(p string) ([]string, error) {
	real, err := t.RealPath(p)
	if err != nil {
		return nil, err
	}
	return mountsOf(real)
}

// mountsOf is Mounts for a real path.
func mountsOf(real string) ([]string, error) {
	table, err := ReadMounts()
	return mountsBelow(table, real), err
}

// RealPath returns the path of p on the running host without symbolic links. All links are followed to directories,
// none to other files. Components that do not exist remain unchanged.
func (t *Tree) RealPath(p string) (string, error) {
	p = path.Clean("/" + p)
	dir, err := t.lookup(p, unix.O_PATH)
	if IsNotExist(err) && p != "/" {
		parent, err := t.RealPath(path.Dir(p))
		return path.Join(parent, path.Base(p)), err
	}
	if err != nil {
		return "", err
	}
	defer dir.Close()
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	return real, wrap.Errorf(err, "resolving %s", p)
}

func mountsBelow(table []Mount, dir string) []string {
	var mounts []string
	for _, mount := range table {
		if IsWithin(mount.Point, dir) {
			mounts = append(mounts, mount.Point)
		}
	}
	// Newest first, and then by depth: the entry of a moved mount can precede that
	// of its current parent.
	slices.Reverse(mounts)
	slices.SortStableFunc(mounts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return mounts
}
