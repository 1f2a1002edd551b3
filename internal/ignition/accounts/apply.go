package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Drivers gives the drivers of all kinds of this package for a tree.
func Drivers(tree *host.Tree, selinux ledger.Labeler) map[ledger.Kind]ledger.Driver {
	keys := &KeyFiles{Tree: tree, SELinux: selinux}
	return map[ledger.Kind]ledger.Driver{
		Group: &Groups{Tree: tree}, User: &Users{Tree: tree}, Home: &Homes{Tree: tree, SELinux: selinux},
		Keys: keys, KeysDir: keys, Leftovers: &leftovers{paths: &ledger.Paths{Tree: tree}},
	}
}

// Apply makes the groups and users of a config, then the homes of the new ones,
// then the keys, and tells what it changed. After an error the ledger knows all
// that was done.
func Apply(ctx context.Context, l *ledger.Ledger, step string, in Input) ([]ledger.Pending, error) {
	if err := awaitTurn(ctx, in.Tree); err != nil {
		return nil, err
	}
	in.Items = l.Items()
	changes, err := Plan(ctx, in)
	if err == nil && len(changes) > 0 {
		err = needDatabase(in.Tree)
	}
	if err != nil {
		return nil, err
	}
	made, err := bracketed(ctx, l, step, changes)
	if err != nil {
		return made, err
	}
	in.Items = l.Items()
	for _, decide := range []func(Input) ([]ledger.Change, error){HomeChanges, KeyChanges} {
		changes, err := decide(in)
		if err != nil {
			return made, err
		}
		more, err := l.Apply(ctx, step, changes)
		made = append(made, more...)
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// needDatabase refuses a tree without the files of the accounts, an empty
// directory for example, before anything is written.
func needDatabase(tree *host.Tree) error {
	for _, name := range []string{"/etc/" + passwdFile, "/etc/" + groupFile} {
		there, err := tree.Exists(name)
		if err != nil {
			return err
		}
		if !there {
			return report.Fail(report.Refused, fmt.Sprintf("dnf --installroot %s --releasever 9 install setup shadow-utils # or use another release, or the tree of an image",
				report.ShellWord(tree.Name())), "users and groups of the config need %s, which %s lacks", name, tree.Name())
		}
	}
	return nil
}

// bracketed applies changes of accounts, with a record of the files that the
// programs leave beside those that they write.
func bracketed(ctx context.Context, l *ledger.Ledger, step string, changes []ledger.Change) ([]ledger.Pending, error) {
	pending, err := l.Diff(ctx, changes)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	end, err := l.Bracket(ctx, step, leftoverChanges()...)
	if err != nil {
		return nil, err
	}
	made, err := l.Apply(ctx, step, changes)
	return made, errors.Join(err, end())
}

func leftoverChanges() []ledger.Change {
	names := []string{".pwd.lock"}
	for _, file := range accountFiles() {
		names = append(names, file+"-")
	}
	var changes []ledger.Change
	for _, name := range names {
		changes = append(changes, ledger.Change{Kind: Leftovers, Target: "/etc/" + name, Why: "written by shadow-utils", Want: ledger.State{Present: true}})
	}
	return changes
}

// leftovers is the driver of the lock file and of the copies of old account
// files.
type leftovers struct{ paths *ledger.Paths }

func (d *leftovers) Look(ctx context.Context, c ledger.Change) (ledger.State, error) {
	return d.paths.Look(ctx, c)
}

// Bracketed says that others make them.
func (d *leftovers) Bracketed() {}

func (d *leftovers) Make(context.Context, ledger.Change, ledger.State) error { return nil }

func (d *leftovers) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	return d.paths.Restore(ctx, c, before)
}
