// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
)

// RecordMade records changes that another program has made, with the states of the objects before them in Now. It
// changes no object. The state of a file that existed must have its content.
func (l *Ledger) RecordMade(step string, made []PlannedChange) error {
	if len(made) == 0 {
		return nil
	}
	recorded, err := l.recordIntent(record{Step: step}, made)
	if err != nil {
		return err
	}
	return l.append(record{Type: done, Intent: recorded}, true)
}

// RecordPresent records objects that have their desired state, and of which no earlier state is known. Their present
// state counts as the one before. It changes no object.
func (l *Ledger) RecordPresent(ctx context.Context, step string, changes []Change) error {
	present := make([]PlannedChange, 0, len(changes))
	for _, change := range changes {
		now, err := l.drivers.currentState(ctx, change)
		if err != nil {
			return err
		}
		if change.Desired.Active == "" {
			now.Active = "" // units start and stop: a revert must do neither
		}
		present = append(present, PlannedChange{Change: change, Now: now})
	}
	return l.RecordMade(step, present)
}

// RecordSnapshots records states in Now of objects that other components change, as TrackExternal does with the
// current states.
func (l *Ledger) RecordSnapshots(step string, before []PlannedChange) error {
	_, err := l.recordIntent(record{Step: step, External: true}, before)
	return err
}

// Forget records durably that no object was changed: the records of RecordMade are void. It changes no object.
func (l *Ledger) Forget() error { return l.Rewind(0, func(Item) bool { return true }) }

// HasCreated reports whether a path was recorded that did not exist before, also if it was reverted or kept since.
func (l *Ledger) HasCreated(target string) bool {
	return slices.ContainsFunc(l.records, func(r record) bool {
		return slices.ContainsFunc(r.Entries, func(e entry) bool {
			return e.Kind.isPath() && e.Target == target && !e.Before.Present
		})
	})
}
