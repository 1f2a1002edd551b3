package entries

import (
	"path"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// link creates a symbolic link, or keeps an existing one with the same target.
func (d *decider) link(e entry, link types.Link) error {
	t, there, err := d.beginEntry(e)
	if err != nil {
		return err
	}
	target := *link.Target
	switch {
	case there.kind == host.Symlink && path.Clean(there.link) == path.Clean(target):
		n := *there
		n.explicit.Link = there.link
		return d.overlay.setNode(e.path, &n)
	case d.canCreate(t, there, "a link to "+target), there.kind == host.Symlink, there.kind == host.Regular:
	default:
		return newObstacle("%s shall be a link to %s, but a %s is there", t.path, target, there)
	}
	if err := d.overlay.parents(e.path, e.node.Path); err != nil {
		return err
	}
	n := &node{kind: host.Symlink, link: target, created: true}
	if d.in.Strict {
		if err := d.ownerOfTarget(n, e.path); err != nil {
			return err
		}
	}
	if !d.setOwner(n, e.node) {
		return nil
	}
	return d.overlay.setNode(e.path, n)
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
	target, err := d.overlay.lstat(real)
	if err == nil && target.kind != host.Absent {
		n.uid, n.gid = target.uid, target.gid
	}
	return err
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
	named, err := d.overlay.lstat(real)
	if err != nil {
		return err
	}
	switch {
	case there.kind == host.Directory && there.isSameFile(named):
		return nil // Ignition makes no further checks
	case named.kind == host.Absent:
		return newObstacle("%s shall be a hard link to %s, where nothing is", t.path, target)
	case named.kind == host.Directory || named.kind == host.Other:
		return newObstacle("%s shall be a hard link to %s, which is a %s", t.path, target, named)
	case there.kind == host.Absent || there.isSameFile(named):
	case !d.in.Strict && (there.kind == host.Symlink || there.kind == host.Regular):
	default:
		return newObstacle("%s shall be a hard link to %s, but another %s is there", t.path, target, there)
	}
	if err := d.overlay.parents(e.path, e.node.Path); err != nil {
		return err
	}
	t.hardTarget = real
	d.overlay.nodes[e.path] = named
	return nil
}
