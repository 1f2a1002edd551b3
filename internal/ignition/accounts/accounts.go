// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// The kinds of changes of this package.
const (
	Group ledger.Kind = "group"
	User  ledger.Kind = "user"
	Keys  ledger.Kind = "keys" // lines in a file of authorized keys
)

// Input contains the desired accounts and the state of the host.
type Input struct {
	Passwd types.Passwd
	Tree   hostfs.Reader
	Live   bool          // the tree is the running host, whose users keep their keys
	Items  []ledger.Item // of earlier runs
	// HomesUnknown is set if the tree has no home directories although its users may have some. The
	// keys of existing users are not planned then.
	HomesUnknown bool
}

// UsersWithKeys returns the users whose SSH keys are desired.
func (in Input) UsersWithKeys() []string {
	var names []string
	for _, user := range in.Passwd.Users {
		if len(user.SSHAuthorizedKeys) > 0 {
			names = append(names, user.Name)
		}
	}
	return names
}

// NewDriver returns the driver of users and groups.
func NewDriver(tree *hostfs.Tree) ledger.Driver { return &shadowUtils{tree: tree} }

// NewKeysDriver returns the driver of keys.
func NewKeysDriver(paths *ledger.Paths) ledger.Driver { return &keyLines{paths: paths} }

// Plan returns the changes of groups and users, then those of the keys of users
// that exist already. It fails if the config cannot be applied.
func Plan(ctx context.Context, in Input) ([]ledger.Change, error) {
	p, err := newPlan(ctx, in)
	return append(p.accounts, p.keys...), err
}

// Apply creates groups and users, then adds the keys, and returns the changes that
// it made. After an error, too, the ledger contains all of them. tree is that of the input.
func Apply(
	ctx context.Context, l *ledger.Ledger, tree *hostfs.Tree, step string, in Input,
) ([]ledger.PlannedChange, error) {
	if err := (&shadowUtils{tree: tree}).CleanUp(ctx, nil); err != nil {
		return nil, err
	}
	in.Items = l.Items()
	p, err := newPlan(ctx, in)
	if err != nil {
		return nil, err
	}
	end := func() error { return nil }
	if len(p.homes) > 0 {
		if end, err = l.TrackExternal(ctx, step, p.homes...); err != nil {
			return nil, err
		}
	}
	made, err := l.Apply(ctx, step, p.accounts)
	if err := errors.Join(err, end()); err != nil {
		return made, err
	}
	in.Items = l.Items()
	if p, err = newPlan(ctx, in); err != nil { // with the keys of new users
		return made, err
	}
	more, err := l.Apply(ctx, step, p.keys)
	return append(made, more...), err
}

// changes are the changes of a config.
type changes struct {
	accounts []ledger.Change
	// homes are the directories that useradd creates, with what their users will put there. An
	// undo lists or purges what userdel does not remove.
	homes []ledger.Change
	keys  []ledger.Change
}

func newPlan(ctx context.Context, in Input) (p changes, err error) {
	if len(in.Passwd.Groups)+len(in.Passwd.Users) == 0 {
		return p, nil
	}
	db, err := readDatabase(in.Tree)
	if err != nil {
		return p, err
	}
	var all []account
	for _, group := range in.Passwd.Groups {
		all = append(all, newGroup(group, db))
	}
	for _, user := range in.Passwd.Users {
		all = append(all, newUser(user, db))
	}
	for _, a := range all {
		c := checker{in, db}
		if err := c.check(a); err != nil {
			return p, err
		}
		if a.mustBeAbsent {
			continue
		}
		change := a.change()
		var missing []string
		if db.has(a.kind, a.name) {
			if created := c.created(a.kind, a.name); created != nil {
				change.Desired.Names = created.Desired.Names
			}
		} else if a.home != "" {
			if missing, err = in.Tree.MissingDirs(a.home); err != nil {
				return p, err
			}
		}
		if len(missing) > 0 {
			change.Desired.Names = []string{a.home}
		}
		p.accounts = append(p.accounts, change)
		// Several homes can have the same missing parent.
		if len(missing) > 0 && !slices.ContainsFunc(p.homes, func(c ledger.Change) bool { return c.Target == missing[0] }) {
			p.homes = append(p.homes, ledger.Change{
				Kind:    ledger.SharedContents,
				Target:  missing[0],
				Reason:  "home directory of " + a.name,
				Desired: ledger.State{Present: true},
			})
		}
	}
	p.keys, err = planKeys(ctx, in, db)
	return p, err
}

// Announced returns the IDs of users and groups with those of a config added. An ID that the config does not set
// is -1.
func Announced(passwd types.Passwd, users, groups map[string]int) (u, g map[string]int) {
	add := func(ids map[string]int, name string, id *int) {
		if _, known := ids[name]; !known {
			ids[name] = ptr.Deref(id, -1)
		}
	}
	u, g = map[string]int{}, map[string]int{}
	maps.Copy(u, users)
	maps.Copy(g, groups)
	for _, group := range passwd.Groups {
		if !util.IsFalse(group.ShouldExist) {
			add(g, group.Name, group.Gid)
		}
	}
	for _, user := range passwd.Users {
		if util.IsFalse(user.ShouldExist) {
			continue
		}
		add(u, user.Name, user.UID)
		if !util.IsTrue(user.NoUserGroup) && !util.NotEmpty(user.PrimaryGroup) {
			add(g, user.Name, nil)
		}
	}
	return u, g
}
