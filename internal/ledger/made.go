// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// RecordMade records changes that another program has made, with the states of the objects before them in Now. It
// changes no object. The objects must not have existed, or must have no content, because none is saved.
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
