package host

import (
	"fmt"
	"path"
)

// A process with the rights of root must not follow a symbolic link by which an
// unprivileged user leads it to something that is not that user's: in a home, an
// entry .config that is a link to /etc. systemd's CHASE_SAFE guards against the
// same. A directory needs no such rule: nobody can make, or move to another
// place, a directory of somebody else.

// UnsafeLinkError means that a path leads over a link that is not followed.
type UnsafeLinkError struct {
	Path  string // the path of the lookup, on the running machine
	Link  string // the name of the link
	Owner int    // the user who decides where the link leads
	Other int    // the user whose directory, or link, that is; -1 where nothing is
}

// Error names the link and both users.
func (e *UnsafeLinkError) Error() string {
	if e.Other < 0 {
		return fmt.Sprintf("the symbolic link %s of user %d leads to where nothing is, and is not followed", e.Link, e.Owner)
	}
	return fmt.Sprintf("the symbolic link %s of user %d leads to what belongs to user %d, and is not followed", e.Link, e.Owner, e.Other)
}

// LinkGuard decides which links one lookup, component by component, may follow.
type LinkGuard struct {
	tree *Tree
	path string
	ends []linkEnd // links whose components are being followed, innermost last
}

// linkEnd is where the components of an unprivileged user's link end: when so
// many are left.
type linkEnd struct {
	name  string
	owner int
	left  int
}

// GuardLinks begins a lookup of p in the tree.
func (t *Tree) GuardLinks(p string) *LinkGuard {
	return &LinkGuard{tree: t, path: path.Join(t.name, p)}
}

// Follow returns an error when a link must not be followed at all: others than
// root can move links of root inside their own directories. Holder is the owner
// of its directory; left is how many components follow the link.
func (g *LinkGuard) Follow(name string, holder, owner, left int) error {
	if !g.tree.privileged(holder) && holder != owner {
		return &UnsafeLinkError{Path: g.path, Link: name, Owner: holder, Other: owner}
	}
	if !g.tree.privileged(owner) {
		g.ends = append(g.ends, linkEnd{name: name, owner: owner, left: left})
	}
	return nil
}

// Arrive returns an error when a link that was followed has led to what is not of
// its owner. Owner is that of where the lookup is; left is how many components
// are to come.
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

// privileged reports whether links of a user are followed wherever they lead:
// those of root, of the user who runs this process, and of the user who owns the
// root of the tree and so can replace everything in it.
func (t *Tree) privileged(uid int) bool { return uid == 0 || uid == t.user || uid == t.owner }
