// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// memberships is a snapshot of the memberships of a new user in groups whose lines
// an undo does not restore. An undo removes the user from all groups.
type memberships struct{ tree *hostfs.Tree }

// Get reports whether the user exists or is a member of a group.
func (m *memberships) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	db, err := readDatabase(m.tree)
	if err != nil {
		return ledger.State{}, err
	}
	return ledger.State{Present: db.has(User, c.Target) || len(db.groupsOf(c.Target)) > 0}, nil
}

// IsPartiallyRestored returns true: removing a user again changes nothing.
func (*memberships) IsPartiallyRestored(ledger.Change, ledger.State, ledger.State) (bool, error) {
	return true, nil
}

// Restore removes the user from the groups.
func (m *memberships) Restore(ctx context.Context, c ledger.Change, _ ledger.State) error {
	return edit(ctx, m.tree, func(db database) error {
		for _, file := range []string{groupFile, gshadowFile} {
			db[file] = db[file].withoutMember(c.Target)
		}
		return nil
	})
}

// withoutMember returns a table of groups without a member, or administrator in
// gshadow.
func (t table) withoutMember(name string) table {
	t.lines = slices.Clone(t.lines)
	for i, line := range t.lines {
		columns := strings.Split(line, ":")
		for at := 2; at < len(columns); at++ {
			if members := split(columns[at]); slices.Contains(members, name) {
				columns[at] = strings.Join(slices.DeleteFunc(members, func(member string) bool { return member == name }), ",")
			}
		}
		t.lines[i] = strings.Join(columns, ":")
	}
	return t
}
