package accounts

import (
	"context"
	"path"
	"slices"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Input is what the accounts are decided from.
type Input struct {
	Passwd types.Passwd
	Tree   *host.Tree
	// Live says that the tree is the running machine: what people have there,
	// they keep.
	Live bool
	// Items is what the ledger holds already.
	Items []ledger.Item
}

// Lookup finds the number of a user or group by its name.
type Lookup = func(name string) (id int, ok bool)

// Names gives the users and groups of a tree, as its files have them.
func Names(tree *host.Tree) (users, groups Lookup, err error) {
	db, err := readDatabase(tree)
	if err != nil {
		return nil, nil, err
	}
	lookup := func(ids map[string]int) Lookup {
		return func(name string) (int, bool) {
			id, known := ids[name]
			return id, known && id >= 0
		}
	}
	return lookup(numbers(db[passwdFile])), lookup(numbers(db[groupFile])), nil
}

// Plan gives the changes of groups and users, and the removals of the homes of
// users that shall not exist. What cannot be done is refused here, before
// anything is written. Homes and keys follow once the users are there.
func Plan(ctx context.Context, in Input) ([]ledger.Change, error) {
	if len(in.Passwd.Groups)+len(in.Passwd.Users) == 0 {
		return nil, nil
	}
	f, err := lookFacts(ctx, in)
	if err != nil {
		return nil, err
	}
	changes, err := decide(in.Passwd, f)
	if err != nil {
		return nil, err
	}
	// Also what stands against the keys of users that are there.
	in.Passwd.Users = slices.DeleteFunc(slices.Clone(in.Passwd.Users), func(user types.PasswdUser) bool {
		moved := text(user.HomeDir) != "" && path.Clean(*user.HomeDir) != path.Clean(f.db.home(user.Name))
		moved = moved || user.UID != nil && *user.UID != f.db.uid(user.Name)
		return !f.db.has(user.Name) || moved || isMade(in.Items, user.Name)
	})
	_, err = KeyChanges(in)
	return changes, err
}

// HomeChanges gives the homes of the users that the ledger says were made, once
// these are there. A home that is there already stays as it is.
func HomeChanges(in Input) ([]ledger.Change, error) {
	db, err := readDatabase(in.Tree)
	if err != nil {
		return nil, err
	}
	var changes []ledger.Change
	parents := map[string]bool{}
	for _, user := range in.Passwd.Users {
		home := path.Clean("/" + db.home(user.Name))
		if util.IsTrue(user.NoCreateHome) || util.IsFalse(user.ShouldExist) || !db.has(user.Name) || home == "/" || !isMade(in.Items, user.Name) {
			continue
		}
		missing, err := in.Tree.MissingDirs(path.Dir(home))
		if err != nil {
			return nil, err
		}
		for _, dir := range missing {
			if parents[dir] {
				continue
			}
			parents[dir] = true
			changes = append(changes, ledger.Change{Kind: ledger.Directory, Target: dir, Why: "parent of the home of " + user.Name, Want: ledger.DirectoryState(0o755)})
		}
		c, err := homeChange(in.Tree, user.Name, home, db.uid(user.Name), db.gid(user.Name))
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// isMade tells whether a user is there because the ledger's owner made it.
func isMade(items []ledger.Item, user string) bool {
	return slices.ContainsFunc(items, func(item ledger.Item) bool {
		return item.Kind == User && item.Target == user && item.Want.Present && !item.Before.Present
	})
}
