// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"path"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// link creates a symbolic link, or keeps an existing one with the same target.
func (d *decider) link(e entry, link types.Link) error {
	t, there, err := d.beginEntry(e)
	if err != nil {
		return err
	}
	target := *link.Target
	switch {
	case there.kind == hostfs.Symlink && path.Clean(there.link) == path.Clean(target):
		n := *there
		n.explicit.Link = there.link
		d.overlay.setNode(e.path, &n)
		return nil
	case d.canCreate(t, there, "a link to "+target), there.kind == hostfs.Symlink, there.kind == hostfs.Regular:
	default:
		return newObstacle("%s must be a link to %s, but a %s exists", t.path, target, there)
	}
	if err := d.overlay.parents(e.path, e.node.Path); err != nil {
		return err
	}
	n := &node{kind: hostfs.Symlink, link: target, created: true}
	if d.in.Strict {
		if err := d.ownerOfTarget(n, e.path); err != nil {
			return err
		}
	}
	d.finishEntry(e, n, nil)
	return nil
}

// ownerOfTarget sets the owner of a new link to that of its target: Ignition stats the link to
// get its owner, and stat follows it. Absolute targets are ignored, because Ignition resolves
// them outside of the tree.
func (d *decider) ownerOfTarget(n *node, p string) error {
	if path.IsAbs(n.link) {
		return nil
	}
	real, found, err := d.overlay.walk(path.Dir(p)+"/"+n.link, true)
	if err != nil || !found {
		return d.problems.collect(err)
	}
	if target := d.overlay.lstat(real); target.kind != hostfs.Absent {
		n.uid, n.gid = target.uid, target.gid
	}
	return nil
}

// hardLink creates a hard link to a file or symbolic link, which the config itself may create. A
// relative target is resolved from the root.
func (d *decider) hardLink(e entry, target string) error {
	t, there, err := d.beginEntry(e)
	if err != nil {
		return err
	}
	real, err := d.overlay.resolve(target)
	if err != nil {
		return err
	}
	named := d.overlay.lstat(real)
	switch {
	case there.kind == hostfs.Directory && there.isSameFile(named):
		return nil // Ignition makes no further checks
	case named.kind == hostfs.Absent:
		return newObstacle("%s must be a hard link to %s, which does not exist", t.path, target)
	case named.kind == hostfs.Directory || named.kind == hostfs.Other:
		return newObstacle("%s must be a hard link to %s, which is a %s", t.path, target, named)
	case there.kind == hostfs.Absent || there.isSameFile(named):
	case !d.in.Strict && (there.kind == hostfs.Symlink || there.kind == hostfs.Regular):
	default:
		return newObstacle("%s must be a hard link to %s, but another %s exists", t.path, target, there)
	}
	if err := d.overlay.parents(e.path, e.node.Path); err != nil {
		return err
	}
	t.hardTarget = real
	d.overlay.nodes[e.path] = named
	return nil
}
