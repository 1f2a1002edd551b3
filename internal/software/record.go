// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// TransactionKind is the ledger's kind for transactions of dnf.
const TransactionKind ledger.Kind = "packages"

// Transactions is a snapshot of dnf's history. It records the transactions in which packages
// were installed. An undo keeps the packages, because other software can depend on them by
// then, most of all bridges of Open vSwitch. RemovalHint returns the command that removes them.
type Transactions struct {
	ledger.Irreversible

	Host dnf.Host
}

// Change returns the change that tracks an installation after the last transaction.
func (t *Transactions) Change(ctx context.Context, specs []string) (ledger.Change, error) {
	last, err := t.Host.LastTransaction(ctx)
	return ledger.Change{
		Kind:    TransactionKind,
		Target:  "after dnf transaction " + last,
		Reason:  strings.Join(specs, " "),
		Desired: ledger.State{Present: true},
	}, err
}

// Get returns dnf's last transaction.
func (t *Transactions) Get(ctx context.Context, _ ledger.Change) (ledger.State, error) {
	state := ledger.State{Present: true}
	if !dnf.IsAvailable() {
		return state, nil
	}
	var err error
	state.Value, err = t.Host.LastTransaction(ctx)
	return state, err
}

// RemovalHint describes the packages that an undo of the item keeps, and how to remove them. It
// returns "" if nothing was installed.
func RemovalHint(item ledger.Item) string {
	if !item.Done {
		return fmt.Sprintf("join was interrupted while dnf installed %s: list its transactions with \"dnf history list\"",
			item.Reason)
	}
	id := item.Desired.Value
	if id == "" || id == item.Before.Value {
		return ""
	}
	return fmt.Sprintf("packages that join installed are kept (%s and dependencies): "+
		"list them with \"dnf history info %s\", remove them with \"dnf history undo %s\"", item.Reason, id, id)
}
