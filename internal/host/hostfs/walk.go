// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Walk calls visit for everything below directory p, parents first, without
// following links. Each directory is opened inside its parent, so that a
// directory replaced by a link cannot redirect the walk. Walk visits mount
// points, but does not descend into other file systems. It skips files that
// disappear during the walk.
func (t *Tree) Walk(p string, visit func(p string, info Info) error) error {
	p = path.Clean("/" + p)
	where := pathEntry{parent: t.root, base: "."}
	if p != "/" {
		var err error
		if where, err = t.openParent(p); IsNotExist(err) {
			return nil
		} else if err != nil {
			return err
		}
		defer where.parent.Close()
	}
	top, err := where.info()
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	return walk(where, p, top.Device, visit)
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

// walk implements Walk for a directory of the file system on the device.
func walk(where pathEntry, p string, device uint64, visit func(string, Info) error) error {
	dir, err := where.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if IsNotExist(err) {
		return nil // removed, or replaced by another file type
	}
	if err != nil {
		return fmt.Errorf("walking %s: %w", p, err)
	}
	defer dir.Close()
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
		if info.Type == Directory && info.Device == device {
			if err := walk(inner, path.Join(p, name), device, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Mounts returns the mount points at or below directory p, deepest first. This
// includes bind mounts of the same file system, which a device number does not
// reveal.
func (t *Tree) Mounts(p string) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return mountsBelow(string(table), path.Join(t.name, p)), wrap.Errorf(err, "reading mount table")
}

func mountsBelow(table, dir string) []string {
	var mounts []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := mountEscapes.Replace(fields[4]); IsWithin(point, dir) {
			mounts = append(mounts, point)
		}
	}
	// Newest first, and then by depth: the entry of a moved mount can precede that
	// of its current parent.
	slices.Reverse(mounts)
	slices.SortStableFunc(mounts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return mounts
}

// mountEscapes decodes the escapes of mountinfo: space, tab, newline, backslash and number sign.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")
