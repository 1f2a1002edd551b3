// SPDX-License-Identifier: Apache-2.0

package ledger

import "context"

// Reader reads the records of a host, and compares them with the host. *Ledger implements it; code that has only a
// Reader can neither change nor revert anything.
type Reader interface {
	Items() []Item
	Unfinished() []Item
	Diff(ctx context.Context, changes []Change) ([]PlannedChange, error)
	Drift(ctx context.Context) ([]Difference, error)
	Maintained(ctx context.Context) ([]string, error)
}

// Reader returns l as a Reader, which is nil if l is nil: the ledger is unreadable then.
func (l *Ledger) Reader() Reader {
	if l == nil {
		return nil
	}
	return l
}
