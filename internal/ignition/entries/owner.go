// SPDX-License-Identifier: Apache-2.0

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
	n.mode, n.explicit.Mode = bits, &bits
}

// setOwner sets the owner that the config specifies by ID or by name. It reports false for an unknown
// name.
func (d *decider) setOwner(n *node, desired types.Node) bool {
	uid, okUser := d.lookupID(desired.Path, "user", desired.User.ID, desired.User.Name, d.in.User)
	gid, okGroup := d.lookupID(desired.Path, "group", desired.Group.ID, desired.Group.Name, d.in.Group)
	if uid != nil {
		n.uid, n.explicit.UID = *uid, uid
	}
	if gid != nil {
		n.gid, n.explicit.GID = *gid, gid
	}
	return okUser && okGroup
}

func (d *decider) lookupID(p, what string, id *int, name *string, lookup Lookup) (*int, bool) {
	if id != nil || name == nil || *name == "" {
		return id, true
	}
	if lookup != nil {
		if found, ok := lookup(*name); ok {
			return &found, true
		}
	}
	d.problems.addConfig("%s must belong to %s %q, which is not in /etc/%s: create it first, or use its numeric ID", p, what, *name,
		map[string]string{"user": "passwd", "group": "group"}[what])
	return nil, false
}

func isTrue(b *bool) bool { return b != nil && *b }
