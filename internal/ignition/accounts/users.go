package accounts

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Users is the driver of users. Their homes are moved and handed over with
// them; making and removing a home are changes of their own.
type Users struct{ Tree *host.Tree }

// Look tells how the user is, in the fields that are wished.
func (d *Users) Look(_ context.Context, c ledger.Change) (ledger.State, error) {
	db, err := readDatabase(d.Tree)
	if err != nil {
		return ledger.State{}, err
	}
	wish, err := wishOf(c)
	if err != nil {
		return ledger.State{}, err
	}
	s := db.snapshotUser(c.Target)
	state := ledger.State{Present: db.has(c.Target)}
	if !c.Want.Present && db[shadowFile].fields(c.Target) != nil {
		state.Present = true // what a userdel left that was ended half-way
	}
	if state.Present && c.Want.Present {
		if state.Value, err = db.user(c.Target, wish).value(); err != nil {
			return state, err
		}
		// The group can be one that the same config makes: its number is not known
		// yet, and the home will change hands all the same.
		unknown := wish.PrimaryGroup != "" && db.groupNamed(wish.PrimaryGroup) < 0
		if m := db.moveOf(c.Target, wish); (m.moves() || unknown) && m.from != "/" {
			if s.Owners, err = m.owners(d.Tree); err != nil {
				return state, err
			}
		}
	}
	defs, err := loginDefs(d.Tree)
	if err != nil {
		return state, err
	}
	if s.Mail, err = d.Tree.Exists(mailSpool(defs, c.Target)); err != nil {
		return state, err
	}
	return withSnapshot(state, s)
}

// Make makes the user as wished. Every part of it can be run again.
func (d *Users) Make(ctx context.Context, c ledger.Change, _ ledger.State) error {
	if err := d.make(ctx, c); err != nil {
		return err
	}
	// The programs rename new files into place, and do not make that durable.
	return d.Tree.SyncFileSystem("/etc")
}

func (d *Users) make(ctx context.Context, c ledger.Change) error {
	db, err := readDatabase(d.Tree)
	if err != nil {
		return err
	}
	wish, err := wishOf(c)
	if err != nil {
		return err
	}
	switch there := db.has(c.Target); {
	case !c.Want.Present:
		return d.remove(ctx, c.Target, there)
	case !there:
		return addUser(ctx, d.Tree, c.Target, wish, c.Want.Content)
	case wish.New != nil && db.user(c.Target, wish).New.Half:
		err := edit(ctx, d.Tree, func(db database) error { return db.eraseUser(c.Target, wish, snapshot{}) })
		if err != nil {
			return err
		}
		return addUser(ctx, d.Tree, c.Target, wish, c.Want.Content)
	}
	if err := db.moveOf(c.Target, wish).do(d.Tree); err != nil {
		return err
	}
	if args := modifyArgs(wish); len(args) > 0 {
		if err := run(ctx, d.Tree, nil, "usermod", append(args, c.Target)...); err != nil {
			return err
		}
	}
	// Setting the same hash again would change the day of its last change.
	if wish.Password == "" || wish.Password == digest([]byte(db.hash(passwdFile, shadowFile, c.Target))) {
		return nil
	}
	return setHash(ctx, d.Tree, "chpasswd", c.Target, c.Want.Content)
}

// remove runs userdel without --remove: the home and the mail are removed
// before, as changes of their own.
func (d *Users) remove(ctx context.Context, name string, there bool) error {
	if there {
		if err := run(ctx, d.Tree, nil, "userdel", name); err != nil {
			return err
		}
	}
	return edit(ctx, d.Tree, func(db database) error {
		for _, file := range []string{shadowFile, subuidFile, subgidFile} {
			db[file].remove(name)
		}
		return nil
	})
}

// Restore brings the user's entries back to how they were, and its home.
func (d *Users) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	wish, err := wishOf(c)
	if err != nil {
		return err
	}
	old, err := decodeSnapshot(before.Content)
	if err != nil {
		return err
	}
	db, err := readDatabase(d.Tree)
	if err != nil {
		return err
	}
	defs, err := loginDefs(d.Tree)
	if err != nil {
		return err
	}
	switch {
	case !old.was(passwdFile):
		if err := d.idle(c.Target, db.uid(c.Target)); err != nil {
			return err
		}
		if err := d.removeMail(mailSpool(defs, c.Target), old.Mail); err != nil {
			return err
		}
	case db.has(c.Target):
		if err := db.moveBack(c.Target, old, wish).undo(d.Tree, old.Owners, mailSpool(defs, c.Target)); err != nil {
			return err
		}
	}
	return edit(ctx, d.Tree, func(db database) error { return db.giveBackUser(c.Target, wish, old) })
}

// idle refuses to take away a user under whom something runs.
func (d *Users) idle(name string, uid int) error {
	if !d.Tree.Live() || uid < 0 {
		return nil
	}
	pids, err := host.Processes(uid)
	if err != nil || len(pids) == 0 {
		return err
	}
	return report.Fail(report.Failed, fmt.Sprintf("# end them (loginctl terminate-user %s) and run this again", name),
		"the user %s was not removed: its process %d is running", name, pids[0])
}

// removeMail removes the mail spool that useradd made, if nothing came.
func (d *Users) removeMail(spool string, was bool) error {
	info, err := d.Tree.Lstat(spool)
	if err != nil || was || info.Type != host.Regular || info.Size > 0 {
		return err
	}
	return d.Tree.Remove(spool)
}
