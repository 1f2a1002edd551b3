package host

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Walk calls visit for everything below directory p, parents first, without
// following links. It does not descend into another file system, but does
// visit the mount point itself. What vanishes meanwhile is passed over.
func (t *Tree) Walk(p string, visit func(p string, info Info) error) error {
	top, err := t.Lstat(p)
	if err != nil {
		return err
	}
	return t.walk(p, top.Device, visit)
}

func (t *Tree) walk(dir string, device uint64, visit func(string, Info) error) error {
	names, err := t.ReadDir(dir)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("walking %s: %w", dir, err)
	}
	for _, name := range names {
		p := path.Join(dir, name)
		info, err := t.Lstat(p)
		if err != nil {
			return err
		}
		if info.Type == Absent {
			continue
		}
		if err := visit(p, info); err != nil {
			return err
		}
		if info.Type == Directory && info.Device == device {
			if err := t.walk(p, device, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Mounts lists the mount points at or below directory p, deepest first; a bind
// mount of the same file system is one too, which a device number cannot show.
func (t *Tree) Mounts(p string) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading mount table: %w", err)
	}
	return mountsBelow(string(table), path.Join(t.name, p)), nil
}

func mountsBelow(table, dir string) []string {
	var mounts []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescapeMount(fields[4]); Within(point, dir) {
			mounts = append(mounts, point)
		}
	}
	// Newest first, and then by depth: a mount that was moved can stand before
	// the one that it is in now.
	slices.Reverse(mounts)
	slices.SortStableFunc(mounts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return mounts
}

// unescapeMount undoes the octal escapes of mountinfo (space, tab, newline,
// backslash).
func unescapeMount(field string) string {
	var out strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if code, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(field[i])
	}
	return out.String()
}
