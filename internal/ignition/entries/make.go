// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// maxRemoved limits the size of a directory tree that an entry replaces: the ledger backs up
// each file of it.
const maxRemoved = 100_000

// touch returns the record of a path of the config, and creates it if necessary.
func (o *overlay) touch(p, why string) *touchedPath {
	t := o.touchedAt[p]
	if t == nil {
		t = &touchedPath{path: p, why: why}
		o.touchedAt[p] = t
		o.touched = append(o.touched, t)
	}
	return t
}

// parents creates missing parent directories, as mkdir -p does.
func (o *overlay) parents(p, why string) error {
	dir := path.Dir(p)
	if dir == "/" {
		return nil
	}
	switch n := o.lstat(dir); n.kind {
	case hostfs.Directory:
		return nil
	case hostfs.Absent:
	default:
		return newObstacle("%s is a %s, not a directory; it cannot contain %s", dir, n, p)
	}
	if err := o.parents(dir, why); err != nil {
		return err
	}
	o.nodes[dir] = o.newNode(dir, hostfs.Directory, 0o755)
	o.touchParent(dir, "parent of "+why)
	return nil
}

// touchParent records a parent directory before the paths below it.
func (o *overlay) touchParent(dir, why string) {
	if o.touchedAt[dir] != nil {
		return
	}
	t := &touchedPath{path: dir, why: why, implied: true}
	o.touchedAt[dir] = t
	at := slices.IndexFunc(o.touched, func(below *touchedPath) bool { return hostfs.IsWithin(below.path, dir) })
	if at < 0 {
		at = len(o.touched)
	}
	o.touched = slices.Insert(o.touched, at, t)
}

// newNode returns a new node owned by root. A directory with the setgid bit passes on its group
// and, to directories, the bit.
func (o *overlay) newNode(p string, kind hostfs.FileType, mode uint32) *node {
	const setgid = 0o2000
	parent := o.lstat(path.Dir(p))
	n := &node{kind: kind, mode: mode, created: true, contentKnown: true}
	if parent.mode&setgid != 0 {
		n.gid = parent.gid
		if kind == hostfs.Directory {
			n.mode |= setgid
		}
	}
	return n
}

// setNode sets the node at a path. If the node equals the file in the tree, the node gets the inode
// of the file, so that hard links to the file still match.
func (o *overlay) setNode(p string, n *node) {
	o.nodes[p] = n
	info := o.lstatTree(p)
	isFile := n.kind == hostfs.Regular || n.kind == hostfs.Symlink
	if isFile && n.inode == (inode{}) && o.isUnchanged(p, n) {
		n.inode = inode{info.Device, info.Inode}
	}
}

// isUnchanged reports whether a node equals the file at a path of the tree.
func (o *overlay) isUnchanged(p string, n *node) bool {
	info := o.lstatTree(p)
	switch {
	case n.kind != info.Type || n.uid != info.UID || n.gid != info.GID || n.link != info.Link:
		return false
	case n.kind == hostfs.Absent || n.kind == hostfs.Symlink:
		return true
	case n.mode != info.Mode:
		return false
	case n.kind != hostfs.Regular || !n.contentKnown:
		return true
	case int64(len(n.content)) != info.Size:
		return false
	}
	content, _, err := o.tree.ReadFile(p)
	o.err = cmp.Or(o.err, err)
	return bytes.Equal(content, n.content)
}

// remove removes a path, for a directory with its contents.
func (o *overlay) remove(p, why string) error {
	n, info := o.lstat(p), o.lstatTree(p)
	if n.kind == hostfs.Absent {
		return nil
	}
	if info.Type == hostfs.Other {
		return newObstacle("%s is a special file, which could not be restored", p)
	}
	if info.Type == hostfs.Directory && !o.cleared[p] {
		if err := o.removable(p, info.Device); err != nil {
			return err
		}
	}
	if n.kind == hostfs.Directory {
		maps.DeleteFunc(o.nodes, func(inner string, _ *node) bool { return strings.HasPrefix(inner, p+"/") })
	}
	o.cleared[p] = o.cleared[p] || info.Type == hostfs.Directory
	o.nodes[p] = &node{}
	o.touch(p, why)
	return nil
}

// removable returns an error if a directory tree is too large to remove, contains a special
// file, which cannot be restored, or contains a mount point.
func (o *overlay) removable(p string, device uint64) error {
	mounts, err := o.tree.Mounts(p)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return newObstacle("the directory %s would be removed, but a file system is mounted at %s", p, mounts[0])
	}
	count := 0
	return o.tree.Walk(p, func(inner string, info hostfs.Info) error {
		count++
		switch {
		case count > maxRemoved:
			return newObstacle("the directory %s would be removed, but it contains more than %d entries", p, maxRemoved)
		case info.Device != device:
			return newObstacle("the directory %s would be removed, but a file system is mounted at %s", p, inner)
		case info.Type == hostfs.Other:
			return newObstacle("the directory %s would be removed, but %s is a special file, which could not be restored",
				p, inner)
		}
		return nil
	})
}
