// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// entry is one directory, file or link of the config.
type entry struct {
	node       types.Node
	path       string // real path
	why        string
	isHardLink bool
	make       func(e entry) error
}

// storage creates the entries in Ignition's order: it resolves all paths first, then creates the
// entries by depth, hard links last.
func (d *decider) storage() error {
	list, err := d.entries()
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		switch {
		case a.isHardLink && b.isHardLink:
			return 0
		case a.isHardLink:
			return 1
		case b.isHardLink:
			return -1
		}
		depth := cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/"))
		return cmp.Or(depth, cmp.Compare(a.path, b.path))
	})
	for _, e := range list {
		if err := d.problems.collect(e.make(e)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decider) entries() ([]entry, error) {
	var list []entry
	for _, dir := range d.in.Storage.Directories {
		list = append(list, entry{node: dir.Node, make: func(e entry) error { return d.directory(e, dir.Mode) }})
	}
	for _, file := range d.in.Storage.Files {
		list = append(list, entry{node: file.Node, make: func(e entry) error { return d.file(e, file) }})
	}
	for _, link := range d.in.Storage.Links {
		one := entry{node: link.Node, make: func(e entry) error { return d.link(e, link) }}
		if util.IsTrue(link.Hard) {
			one.isHardLink, one.make = true, func(e entry) error { return d.hardLink(e, *link.Target) }
		}
		list = append(list, one)
	}
	taken := map[string]string{}
	var good []entry
	for _, e := range list {
		real, err := d.overlay.resolve(e.node.Path)
		if err := d.problems.collect(err); err != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		e.path, e.why = real, changeReason(e.node.Path, real)
		switch other, twice := taken[real]; {
		case twice:
			d.problems.addConfig("%s and %s are the same path %s through symbolic links", other, e.node.Path, real)
		case d.in.isForbidden(real):
			d.problems.addTree("an entry at %s is not allowed: symbolic links lead to %s", e.node.Path, real)
		default:
			taken[real] = e.node.Path
			good = append(good, e)
		}
	}
	return good, nil
}

// changeReason returns the reason of a change.
func changeReason(desired, real string) string {
	if desired == real {
		return "payload"
	}
	return fmt.Sprintf("payload, as %s", desired)
}

// beginEntry records an entry. With overwrite, it removes the existing path, except for a directory
// tree on a running host.
func (d *decider) beginEntry(e entry) (*touchedPath, *node, error) {
	t := d.overlay.touch(e.path, e.why)
	t.overwrite, t.implied = util.IsTrue(e.node.Overwrite), false
	if t.overwrite {
		if err := d.removeExisting(e.path, e.why); err != nil {
			return nil, nil, err
		}
	}
	return t, d.overlay.lstat(e.path), nil
}

// finishEntry sets the owner and mode of an entry's node, and puts the node into the overlay.
func (d *decider) finishEntry(e entry, n *node, mode *int) {
	uid, okUser := d.lookupID(e.node.Path, "user", e.node.User.ID, e.node.User.Name, d.in.User)
	gid, okGroup := d.lookupID(e.node.Path, "group", e.node.Group.ID, e.node.Group.Name, d.in.Group)
	if !okUser || !okGroup {
		return
	}
	if uid != nil {
		n.uid, n.explicit.UID = *uid, uid
	}
	if gid != nil {
		n.gid, n.explicit.GID = *gid, gid
	}
	if mode != nil {
		n.mode = uint32(*mode) //nolint:gosec // validated: 0 to 07777
		bits := n.mode
		n.explicit.Mode = &bits
	}
	d.overlay.setNode(e.path, n)
}

// lookupID returns the ID that the config specifies by number or by name, nil for none. It reports false for
// an unknown name.
func (d *decider) lookupID(p, what string, id *int, name *string, ids map[string]int) (*int, bool) {
	if id != nil || name == nil || *name == "" {
		return id, true
	}
	if found, ok := ids[*name]; ok {
		return &found, true
	}
	d.problems.addConfig("%s must belong to %s %q, which is not in /etc/%s: create it first, or use its numeric ID",
		p, what, *name, map[string]string{"user": "passwd", "group": "group"}[what])
	return nil, false
}

// directory creates a directory, or sets mode and owner of an existing one.
func (d *decider) directory(e entry, mode *int) error {
	if !d.in.Strict && d.overlay.lstat(e.path).kind == hostfs.Directory {
		e.node.Overwrite = nil // its contents belong to the host
	}
	t, n, err := d.beginEntry(e)
	if err != nil {
		return err
	}
	switch {
	case n.kind == hostfs.Directory:
		copied := *n
		n = &copied
	case d.canCreate(t, n, "a directory"):
		if err := d.overlay.parents(e.path, e.node.Path); err != nil {
			return err
		}
		n = d.overlay.newNode(e.path, hostfs.Directory, 0o755)
	default:
		return newObstacle("%s must be a directory, but a %s exists", t.path, n)
	}
	d.finishEntry(e, n, mode)
	return nil
}
