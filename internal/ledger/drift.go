// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
)

// Difference is an object whose current state differs from the state that the ledger
// recorded.
type Difference struct {
	Item
	Now    State  `json:"now"`
	Backup string `json:"backup,omitempty"` // after an undo: path of the backup
}

// Drift returns the objects that another process or an administrator has changed since. It
// skips snapshots, whose objects change all the time, and objects that an interrupted run has not
// changed yet. It skips unreadable objects and joins their errors.
func (l *Ledger) Drift(ctx context.Context) ([]Difference, error) {
	var drift []Difference
	var errs []error
	for _, item := range l.Items() {
		if _, isSnapshot := l.drivers.Snapshots[item.Kind]; isSnapshot || (item.external && !item.Done) {
			continue // the desired state is unknown
		}
		now, err := l.drivers.currentState(ctx, item.Change)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !item.Matches(now) && !item.isPending(now) && !item.hasAcceptedValue(now) && !l.drivers.isMaintained(item, now) {
			drift = append(drift, Difference{Item: item, Now: now})
		}
	}
	return drift, errors.Join(errs...)
}

// isPending reports whether the first run that was to change the object was interrupted before it did.
func (i Item) isPending(now State) bool {
	return !i.Done && len(i.earlierDesired) == 0 && isIdentical(now, i.Before)
}

// KeptMessage returns a message about an object that an undo has kept because it was changed by
// others, including the path of the backup.
func (d Difference) KeptMessage() string {
	text := fmt.Sprintf("%s %s was changed since the join (now: %s); it is kept", d.Kind, d.Target, d.Now)
	if d.Backup != "" {
		text += "; its state before the join is backed up in " + d.Backup
	}
	return text
}
