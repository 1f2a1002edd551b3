package entries

import (
	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// setMode sets the mode, if the config has one.
func (n *node) setMode(mode *int) {
	if mode == nil {
		return
	}
	bits := uint32(*mode) //nolint:gosec // validated: 0 to 07777
	n.mode, n.given.Mode = bits, &bits
}

// own sets the owner that the config specifies by ID or by name. It reports false for an unknown
// name.
func (d *decider) own(n *node, wish types.Node) bool {
	uid, okUser := d.number(wish.Path, "user", wish.User.ID, wish.User.Name, d.in.User)
	gid, okGroup := d.number(wish.Path, "group", wish.Group.ID, wish.Group.Name, d.in.Group)
	if uid != nil {
		n.uid, n.given.UID = *uid, uid
	}
	if gid != nil {
		n.gid, n.given.GID = *gid, gid
	}
	return okUser && okGroup
}

func (d *decider) number(p, what string, id *int, name *string, lookup Lookup) (*int, bool) {
	if id != nil || name == nil || *name == "" {
		return id, true
	}
	if lookup != nil {
		if found, ok := lookup(*name); ok {
			return &found, true
		}
	}
	d.found.inConfig("%s shall belong to %s %q, who is not in /etc/%s: create it first, or give its number", p, what, *name,
		map[string]string{"user": "passwd", "group": "group"}[what])
	return nil, false
}

func yes(b *bool) bool { return b != nil && *b }
