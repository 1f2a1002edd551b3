// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// changes returns the changes from the tree to the overlay, including the ones that the tree
// already has.
func (d *decider) changes() ([]ledger.Change, error) {
	changes, err := d.overlay.removals()
	if err != nil {
		return nil, err
	}
	var hard []ledger.Change
	for _, t := range d.overlay.touched {
		if err := d.checkUnreplaced(t); err != nil {
			return nil, err
		}
		list, err := d.overlay.changesFor(t)
		if err != nil {
			return nil, err
		}
		if n := len(list); n > 0 && list[n-1].Kind == ledger.HardLink {
			hard = append(hard, list...)
			continue
		}
		changes = append(changes, list...)
	}
	return append(changes, hard...), nil
}

// checkUnreplaced adds a problem if Ignition's rules forbid a difference between the overlay and the tree
// at a path.
func (d *decider) checkUnreplaced(t *touchedPath) error {
	if t.conflict == "" {
		return nil
	}
	n, err := d.overlay.lstat(t.path)
	if err != nil {
		return err
	}
	info, err := d.overlay.lstatTree(t.path)
	if err != nil {
		return err
	}
	same, err := d.overlay.unchanged(t.path, n, info)
	if err == nil && !same {
		d.problems.addTree("%s", t.conflict)
	}
	return err
}

// removals returns the removals, deepest first: paths that do not exist in the overlay, and
// paths that change between a directory and another type.
func (o *overlay) removals() ([]ledger.Change, error) {
	gone := map[string]ledger.Change{}
	inspect := func(p string, info hostfs.Info, t *touchedPath) error {
		n, err := o.lstat(p)
		if err != nil || info.Type == hostfs.Absent {
			return err
		}
		if n.kind == hostfs.Absent || (n.kind == hostfs.Directory) != (info.Type == hostfs.Directory) {
			gone[p] = ledger.Change{Kind: changeKind(info.Type), Target: p, Reason: t.why, Overwrite: true}
		}
		return nil
	}
	for _, t := range o.touched {
		info, err := o.lstatTree(t.path)
		if err != nil {
			return nil, err
		}
		if err := inspect(t.path, info, t); err != nil {
			return nil, err
		}
		if !o.cleared[t.path] {
			continue
		}
		if err := o.tree.Walk(t.path, func(p string, info hostfs.Info) error { return inspect(p, info, t) }); err != nil {
			return nil, err
		}
	}
	list := make([]ledger.Change, 0, len(gone))
	for _, change := range gone {
		list = append(list, change)
	}
	slices.SortFunc(list, func(a, b ledger.Change) int {
		if depth := strings.Count(b.Target, "/") - strings.Count(a.Target, "/"); depth != 0 {
			return depth
		}
		return strings.Compare(a.Target, b.Target)
	})
	return list, nil
}

func changeKind(kind hostfs.FileType) ledger.Kind {
	switch kind {
	case hostfs.Directory:
		return ledger.Directory
	case hostfs.Symlink:
		return ledger.Symlink
	}
	return ledger.File
}

// changesFor returns the changes that create one path, none if the path does not exist in the overlay.
func (o *overlay) changesFor(t *touchedPath) ([]ledger.Change, error) {
	n, err := o.lstat(t.path)
	if err != nil || n.kind == hostfs.Absent {
		return nil, err
	}
	change := ledger.Change{Kind: changeKind(n.kind), Target: t.path, Reason: t.why, Overwrite: t.overwrite, Desired: n.state()}
	switch {
	case t.implied:
		return o.parentChanges(t, n, change)
	case t.hardTarget != "" && n.kind != hostfs.Directory:
		return o.hardLinkChanges(t, n, change)
	}
	return []ledger.Change{change}, nil
}

// hardLinkChanges returns the changes for a hard link. The path is removed first if it is a hard link
// to a file that is replaced, because it would keep the old content. If another entry replaced
// the link's target in the overlay, the path gets a copy: the ledger creates hard links last and
// would link to the new target.
func (o *overlay) hardLinkChanges(t *touchedPath, n *node, change ledger.Change) ([]ledger.Change, error) {
	named, err := o.lstat(t.hardTarget)
	if err != nil {
		return nil, err
	}
	if named != n && n.kind == hostfs.Symlink {
		change.Desired = ledger.State{Present: true, UID: &n.uid, GID: &n.gid, Link: n.link}
		return []ledger.Change{change}, nil
	}
	if named != n {
		content, err := o.read(n)
		change.Desired = ledger.FileState(content, n.mode)
		change.Desired.UID, change.Desired.GID = &n.uid, &n.gid
		return []ledger.Change{change}, err
	}
	change.Kind, change.Desired = ledger.HardLink, ledger.HardLinkState(t.hardTarget, n.kind)
	info, err := o.lstatTree(t.path)
	if err != nil {
		return nil, err
	}
	target, err := o.lstatTree(t.hardTarget)
	if err != nil {
		return nil, err
	}
	if info.Type == n.kind && info.Device == target.Device && info.Inode == target.Inode && n.inode == (inode{}) {
		remove := ledger.Change{Kind: ledger.File, Target: t.path, Reason: t.why, Overwrite: true}
		return []ledger.Change{remove, change}, nil
	}
	return []ledger.Change{change}, nil
}

// parentChanges returns the change for a parent directory that the ledger would create with other
// attributes, or that exists and would be removed. The ledger creates other missing parents
// automatically.
func (o *overlay) parentChanges(t *touchedPath, n *node, change ledger.Change) ([]ledger.Change, error) {
	info, err := o.lstatTree(t.path)
	if err != nil {
		return nil, err
	}
	if info.Type == hostfs.Directory || n.mode != 0o755 || n.gid != 0 {
		return []ledger.Change{change}, nil
	}
	return nil, nil
}

// state returns the desired state of a node.
func (n *node) state() ledger.State {
	state := n.explicit
	if n.created {
		state = ledger.State{Mode: &n.mode, UID: &n.uid, GID: &n.gid, Link: n.link}
		if n.kind == hostfs.Symlink {
			state.Mode = nil
		}
	}
	state.Present = true
	if n.kind == hostfs.Regular && (n.created || n.written) {
		file := ledger.FileState(n.content, n.mode)
		state.Content, state.Digest, state.Size = file.Content, file.Digest, file.Size
	}
	return state
}

// removeExisting removes an existing path before an entry is created there. On a running host, directory
// trees are never removed.
func (d *decider) removeExisting(p, why string) error {
	there, err := d.overlay.lstat(p)
	if err != nil {
		return err
	}
	if there.kind == hostfs.Directory && !d.in.Strict {
		return newObstacle("%s is a directory; on a running host, directories are not replaced", path.Clean(p))
	}
	return d.overlay.remove(p, why)
}
