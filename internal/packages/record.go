package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Kind is the kind of the ledger's bracket around a transaction of dnf.
const Kind ledger.Kind = "packages"

// Transactions records between which of dnf's transactions packages were
// installed. An undo leaves them: whatever else has come to need them since
// would break with them, an Open vSwitch with bridges of somebody's foremost.
// Left has the command that removes them.
type Transactions struct{ Host dnf.Host }

// Change is the bracket of an installation, after the last transaction so far.
func (t *Transactions) Change(ctx context.Context, specs []string) (ledger.Change, error) {
	last, err := t.Host.LastTransaction(ctx)
	return ledger.Change{
		Kind: Kind, Target: "after dnf's transaction " + last, Why: strings.Join(specs, " "), Want: ledger.State{Present: true},
	}, err
}

// Look tells dnf's last transaction.
func (t *Transactions) Look(ctx context.Context, _ ledger.Change) (ledger.State, error) {
	state := ledger.State{Present: true}
	if !dnf.Has() {
		return state, nil
	}
	last, err := t.Host.LastTransaction(ctx)
	if last != "" {
		state.Names = []string{last}
	}
	return state, err
}

// Bracketed says that others go on with dnf's history.
func (t *Transactions) Bracketed() {}

// Make does nothing: dnf installs.
func (t *Transactions) Make(context.Context, ledger.Change, ledger.State) error { return nil }

// Restore leaves the packages.
func (t *Transactions) Restore(context.Context, ledger.Change, ledger.State) error { return nil }

// Left says what an undo of the item leaves, and how it can be removed; "" when
// nothing was installed.
func Left(item ledger.Item) string {
	if !item.Done {
		return fmt.Sprintf("join was ended while dnf installed %s: \"dnf history list\" shows what it did", item.Why)
	}
	if slices.Equal(item.Before.Names, item.Want.Names) || len(item.Want.Names) == 0 {
		return ""
	}
	id := item.Want.Names[0]
	return fmt.Sprintf("packages that join installed stay (%s, with what they need): \"dnf history info %s\" lists them, \"dnf history undo %s\" removes them", item.Why, id, id)
}
