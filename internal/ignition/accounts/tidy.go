package accounts

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Tidy waits for a program that a killed run left running, and makes durable
// what it wrote.
func (d *Users) Tidy(ctx context.Context, _ []ledger.Change) error { return settle(ctx, d.Tree) }

// Tidy is that of Users.
func (d *Groups) Tidy(ctx context.Context, _ []ledger.Change) error { return settle(ctx, d.Tree) }

func settle(ctx context.Context, tree *host.Tree) error {
	if err := awaitTurn(ctx, tree); err != nil {
		return err
	}
	err := tree.SyncFileSystem("/etc")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no program of shadow-utils can have written anything
	}
	return err
}

// Tidy removes homes that were being built, and makes durable those that have
// their names.
func (d *Homes) Tidy(_ context.Context, changes []ledger.Change) error {
	for _, c := range changes {
		// Also what it is made as before it has the name under which it is built.
		if err := d.Tree.RemoveTemporary(aside(c.Target)); err != nil {
			return err
		}
		if err := removeTree(d.Tree, aside(c.Target)); err != nil {
			return err
		}
		there, err := d.Tree.Exists(c.Target)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if err := d.Tree.SyncDir(path.Dir(c.Target)); err != nil {
			return err
		}
	}
	return nil
}

// Tidy removes what killed runs left beside files of keys and their
// directories: nothing else removes it, and no directory goes that holds it.
func (d *KeyFiles) Tidy(ctx context.Context, changes []ledger.Change) error {
	for _, c := range changes {
		in, err := d.open(c)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		err = in.paths.Tidy(ctx, []ledger.Change{in.change})
		in.paths.Tree.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
