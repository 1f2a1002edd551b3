package accounts

import (
	"context"
	"strconv"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Groups is the driver of groups.
type Groups struct{ Tree *host.Tree }

// Look tells how the group is, in the fields that are wished.
func (d *Groups) Look(_ context.Context, c ledger.Change) (ledger.State, error) {
	db, err := readDatabase(d.Tree)
	if err != nil {
		return ledger.State{}, err
	}
	wish, err := wishOf(c)
	if err != nil {
		return ledger.State{}, err
	}
	state := ledger.State{Present: db.hasGroup(c.Target)}
	if !c.Want.Present && db[gshadowFile].fields(c.Target) != nil {
		state.Present = true // what a groupdel left that was ended half-way
	}
	if state.Present && c.Want.Present {
		if state.Value, err = db.group(c.Target, wish).value(); err != nil {
			return state, err
		}
	}
	return withSnapshot(state, db.snapshotGroup(c.Target))
}

// Make makes the group as wished. Every part of it can be run again.
func (d *Groups) Make(ctx context.Context, c ledger.Change, _ ledger.State) error {
	if err := d.make(ctx, c); err != nil {
		return err
	}
	return d.Tree.SyncFileSystem("/etc")
}

func (d *Groups) make(ctx context.Context, c ledger.Change) error {
	db, err := readDatabase(d.Tree)
	if err != nil {
		return err
	}
	wish, err := wishOf(c)
	if err != nil {
		return err
	}
	there := db.hasGroup(c.Target)
	if !c.Want.Present {
		if there {
			if err := run(ctx, d.Tree, nil, "groupdel", c.Target); err != nil {
				return err
			}
		}
		return edit(ctx, d.Tree, func(db database) error { db[gshadowFile].remove(c.Target); return nil })
	}
	if there && wish.New != nil && db.group(c.Target, wish).New.Half {
		there = false
		if err := edit(ctx, d.Tree, func(db database) error { db[groupFile].remove(c.Target); return nil }); err != nil {
			return err
		}
	}
	var args []string
	if wish.GID != nil {
		args = append(args, "--gid", strconv.Itoa(*wish.GID))
	}
	switch {
	case !there:
		if wish.New != nil && wish.New.System {
			args = append(args, "--system")
		}
		err = run(ctx, d.Tree, nil, "groupadd", append(args, c.Target)...)
	case len(args) > 0:
		err = run(ctx, d.Tree, nil, "groupmod", append(args, c.Target)...)
	}
	if err != nil || wish.Password == "" {
		return err
	}
	return setHash(ctx, d.Tree, "chgpasswd", c.Target, c.Want.Content)
}

// Restore brings the group's entries back to how they were.
func (d *Groups) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	wish, err := wishOf(c)
	if err != nil {
		return err
	}
	old, err := decodeSnapshot(before.Content)
	if err != nil {
		return err
	}
	return edit(ctx, d.Tree, func(db database) error { return db.giveBackGroup(c.Target, wish, old) })
}

func withSnapshot(state ledger.State, s snapshot) (ledger.State, error) {
	content, err := s.encode()
	if err != nil {
		return state, err
	}
	state.Content, state.Digest, state.Size = content, digest(content), int64(len(content))
	return state, nil
}
