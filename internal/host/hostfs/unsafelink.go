// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"fmt"
	"path"
)

// A privileged process must not follow a symbolic link of an unprivileged user
// to a file of another user, for example a link to /etc at .config in a home
// directory. systemd's CHASE_SAFE prevents the same. Directories need no such
// rule: an unprivileged user cannot create or move a directory of another user.

// UnsafeLinkError means that a path contains a link that must not be followed.
type UnsafeLinkError struct {
	Path  string // the path of the lookup, on the running host
	Link  string // the name of the link
	Owner int    // the user who controls the target of the link
	Other int    // the owner of the target or link; -1 if the target does not exist
}

// Error returns a message with the link and both users.
func (e *UnsafeLinkError) Error() string {
	if e.Other < 0 {
		return fmt.Sprintf("the symbolic link %s of user %d is not followed: its target does not exist", e.Link, e.Owner)
	}
	return fmt.Sprintf("the symbolic link %s of user %d is not followed: its target belongs to user %d", e.Link, e.Owner,
		e.Other)
}

// LinkGuard decides which links one lookup, component by component, may follow.
type LinkGuard struct {
	tree *Tree
	path string
	ends []linkEnd // links whose components are being resolved, innermost last
}

// linkEnd marks the end of the components of an unprivileged user's link: when
// left components remain.
type linkEnd struct {
	name  string
	owner int
	left  int
}

// GuardLinks returns the LinkGuard for a lookup of p in the tree.
func (t *Tree) GuardLinks(p string) *LinkGuard {
	return &LinkGuard{tree: t, path: path.Join(t.name, p)}
}

// Follow returns an error if a link must not be followed at all: unprivileged
// users can move links of root within their own directories. holder is the
// owner of the link's directory; left is the number of components after the
// link.
func (g *LinkGuard) Follow(name string, holder, owner, left int) error {
	if !g.tree.privileged(holder) && holder != owner {
		return &UnsafeLinkError{Path: g.path, Link: name, Owner: holder, Other: owner}
	}
	if !g.tree.privileged(owner) {
		g.ends = append(g.ends, linkEnd{name: name, owner: owner, left: left})
	}
	return nil
}

// Arrive returns an error if the target of a followed link does not belong to
// the owner of the link. owner is the owner of the current directory; left is
// the number of remaining components.
func (g *LinkGuard) Arrive(owner, left int) error {
	for len(g.ends) > 0 {
		end := g.ends[len(g.ends)-1]
		if left > end.left {
			return nil
		}
		if owner != end.owner {
			return &UnsafeLinkError{Path: g.path, Link: end.name, Owner: end.owner, Other: owner}
		}
		g.ends = g.ends[:len(g.ends)-1]
	}
	return nil
}

// privileged reports whether links of a user are followed to any target: those
// of root, of the user of this process, and of the owner of the tree's root,
// who can replace everything in the tree.
func (t *Tree) privileged(uid int) bool { return uid == 0 || uid == t.user || uid == t.owner }
