// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"maps"
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
		// Ignition's rules forbid a difference between the overlay and the tree here.
		if t.conflict != "" && !d.overlay.isUnchanged(t.path, d.overlay.lstat(t.path)) {
			d.problems.addTree("%s", t.conflict)
		}
		list := d.overlay.changesFor(t)
		if n := len(list); n > 0 && list[n-1].Kind == ledger.HardLink {
			hard = append(hard, list...)
			continue
		}
		changes = append(changes, list...)
	}
	return append(changes, hard...), nil
}

// removals returns the removals, deepest first: paths that do not exist in the overlay, and
// paths that change between a directory and another type.
func (o *overlay) removals() ([]ledger.Change, error) {
	gone := map[string]ledger.Change{}
	inspect := func(p string, info hostfs.Info, t *touchedPath) {
		n := o.lstat(p)
		isReplaced := n.kind == hostfs.Absent || (n.kind == hostfs.Directory) != (info.Type == hostfs.Directory)
		if info.Type != hostfs.Absent && isReplaced {
			gone[p] = ledger.Change{Kind: changeKind(info.Type), Target: p, Reason: t.why, Overwrite: true}
		}
	}
	for _, t := range o.touched {
		inspect(t.path, o.lstatTree(t.path), t)
		if !o.cleared[t.path] {
			continue
		}
		err := o.tree.Walk(t.path, func(p string, info hostfs.Info) error {
			inspect(p, info, t)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(gone), func(a, b ledger.Change) int {
		depth := strings.Count(b.Target, "/") - strings.Count(a.Target, "/")
		return cmp.Or(depth, strings.Compare(a.Target, b.Target))
	}), nil
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
func (o *overlay) changesFor(t *touchedPath) []ledger.Change {
	n, info := o.lstat(t.path), o.lstatTree(t.path)
	change := ledger.Change{
		Kind: changeKind(n.kind), Target: t.path, Reason: t.why, Overwrite: t.overwrite, Desired: n.state(),
	}
	switch {
	case n.kind == hostfs.Absent:
		return nil
	case t.implied && info.Type != hostfs.Directory && n.mode == 0o755 && n.gid == 0:
		return nil // the ledger creates such missing parents automatically
	case !t.implied && t.hardTarget != "" && n.kind != hostfs.Directory:
		return o.hardLinkChanges(t, n, change)
	}
	return []ledger.Change{change}
}

// hardLinkChanges returns the changes for a hard link. The path is removed first if it is a hard link
// to a file that is replaced, because it would keep the old content. If another entry replaced
// the link's target in the overlay, the path gets a copy: the ledger creates hard links last and
// would link to the new target.
func (o *overlay) hardLinkChanges(t *touchedPath, n *node, change ledger.Change) []ledger.Change {
	isReplaced := o.lstat(t.hardTarget) != n
	switch {
	case isReplaced && n.kind == hostfs.Symlink:
		change.Desired = ledger.State{Present: true, UID: &n.uid, GID: &n.gid, Link: n.link}
		return []ledger.Change{change}
	case isReplaced:
		change.Desired = ledger.FileState(o.read(n), n.mode)
		change.Desired.UID, change.Desired.GID = &n.uid, &n.gid
		return []ledger.Change{change}
	}
	change.Kind, change.Desired = ledger.HardLink, ledger.HardLinkState(t.hardTarget, n.kind)
	info, target := o.lstatTree(t.path), o.lstatTree(t.hardTarget)
	if info.Type == n.kind && info.Device == target.Device && info.Inode == target.Inode && n.inode == (inode{}) {
		remove := ledger.Change{Kind: ledger.File, Target: t.path, Reason: t.why, Overwrite: true}
		return []ledger.Change{remove, change}
	}
	return []ledger.Change{change}
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
		state = state.WithContent(n.content)
	}
	return state
}

// removeExisting removes an existing path before an entry is created there. On a running host, directory
// trees are never removed.
func (d *decider) removeExisting(p, why string) error {
	if d.overlay.lstat(p).kind == hostfs.Directory && !d.in.Strict {
		return newObstacle("%s is a directory; on a running host, directories are not replaced", path.Clean(p))
	}
	return d.overlay.remove(p, why)
}
