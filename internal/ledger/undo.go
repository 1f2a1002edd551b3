package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Item is one thing that the ledger holds: how it was before the first change
// and how it was left by the last.
type Item struct {
	Change
	Step   string `json:"step"`
	Before State  `json:"before"`
	Done   bool   `json:"done"` // false when a run was ended before it could say so
}

// Items lists what was changed and not given back, in the order of the first
// change of each.
func (l *Ledger) Items() []Item {
	var items []Item
	index := map[string]int{}
	bySeq := map[int][]string{}
	for _, r := range l.records {
		switch r.Type {
		case intent:
			for _, e := range r.Entries {
				key := e.Key()
				bySeq[r.Seq] = append(bySeq[r.Seq], key)
				at, seen := index[key]
				if !seen {
					at = len(items)
					index[key] = at
					items = append(items, Item{Before: e.Before})
				}
				e.Want = carryOver(items[at].Want, e.Want)
				items[at].Change, items[at].Step, items[at].Done = e.Change, r.Step, false
			}
		case done:
			for i, key := range bySeq[r.Of] {
				at, held := index[key]
				if !held {
					continue
				}
				items[at].Done = true
				if i < len(r.After) {
					items[at].Want = r.After[i]
				}
			}
		case undone:
			if at, held := index[r.Key]; held {
				items = append(items[:at], items[at+1:]...)
				delete(index, r.Key)
				for key, i := range index {
					if i > at {
						index[key] = i - 1
					}
				}
			}
		}
	}
	return items
}

// carryOver keeps of an earlier wish what a later one for the same thing leaves
// open: a unit that was enabled first and started later was both.
func carryOver(earlier, later State) State {
	if earlier.Present && later.Present {
		later.Enabled = cmp.Or(later.Enabled, earlier.Enabled)
		later.Active = cmp.Or(later.Active, earlier.Active)
	}
	return later
}

// Difference is a thing that is not as the ledger left it.
type Difference struct {
	Item
	Now State `json:"now"`
}

// Bracketed is a Driver of what others make and change all the time; the ledger
// only knows how it was before.
type Bracketed interface{ Bracketed() }

// Drift lists the things that somebody else has changed since.
func (l *Ledger) Drift(ctx context.Context) ([]Difference, error) {
	var drift []Difference
	var errs []error
	for _, item := range l.Items() {
		if _, theirs := l.drivers[item.Kind].(Bracketed); theirs {
			continue // others change it all the time
		}
		now, err := l.look(ctx, item.Change)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !item.Same(now) {
			drift = append(drift, Difference{Item: item, Now: now})
		}
	}
	return drift, errors.Join(errs...)
}

// Outcome is what an undo did.
type Outcome struct {
	Restored []Item
	Kept     []Difference // changed by somebody else since; theirs stays
}

// Undo gives everything back, newest first, as far as it can: an error with
// one thing does not stop the others, all errors are joined, and what failed
// is tried again by the next Undo. A directory that is not empty yet is tried
// once more in the end; if it still is not, what is in it is somebody else's,
// and it stays.
func (l *Ledger) Undo(ctx context.Context) (Outcome, error) {
	var outcome Outcome
	var errs []error
	var full []Item
	items := l.Items()
	slices.Reverse(items)
	for _, item := range items {
		if ctx.Err() != nil {
			return outcome, errors.Join(append(errs, ctx.Err())...)
		}
		err := l.undo(ctx, item, &outcome)
		if errors.Is(err, unix.ENOTEMPTY) {
			full = append(full, item)
			continue
		}
		errs = append(errs, err)
	}
	for _, item := range full {
		err := l.undo(ctx, item, &outcome)
		if errors.Is(err, unix.ENOTEMPTY) {
			now, lookErr := l.look(ctx, item.Change)
			outcome.Kept = append(outcome.Kept, Difference{Item: item, Now: now})
			err = errors.Join(lookErr, l.append(record{Type: undone, Key: item.Key()}, false))
		}
		errs = append(errs, err)
	}
	if l.log != nil {
		errs = append(errs, l.log.Sync())
	}
	return outcome, errors.Join(errs...)
}

// undo gives one thing back and notes it. The note is not synced by itself:
// giving back twice changes nothing.
func (l *Ledger) undo(ctx context.Context, item Item, outcome *Outcome) error {
	now, kept, err := l.giveBack(ctx, item)
	if err != nil {
		return err
	}
	if kept {
		outcome.Kept = append(outcome.Kept, Difference{Item: item, Now: now})
	} else {
		outcome.Restored = append(outcome.Restored, item)
	}
	return l.append(record{Type: undone, Key: item.Key()}, false)
}

func (l *Ledger) giveBack(ctx context.Context, item Item) (now State, kept bool, err error) {
	driver, err := l.driver(item.Kind)
	if err != nil {
		return State{}, false, err
	}
	if now, err = driver.Look(ctx, item.Change); err != nil {
		return State{}, false, err
	}
	if sameExactly(now, item.Before) {
		return now, false, nil
	}
	if !item.Same(now) && item.Done {
		return now, true, nil
	}
	before := item.Before
	if before.Digest != "" {
		if before.Content, err = l.original(before.Digest); err != nil {
			return now, false, err
		}
	}
	if err := driver.Restore(ctx, item.Change, before); err != nil {
		return now, false, fmt.Errorf("giving back %s %s: %w", item.Kind, item.Target, err)
	}
	return now, false, nil
}

func sameExactly(a, b State) bool {
	// As they are written to the ledger: there nil and empty are one.
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// Forget deletes the ledger's file and the kept originals (they can hold
// secrets) once nothing is left to be given back.
func (l *Ledger) Forget() error {
	if left := len(l.Items()); left > 0 {
		return fmt.Errorf("forgetting the ledger: %d things are not given back yet", left)
	}
	return errors.Join(
		os.RemoveAll(filepath.Join(l.dir, "originals")),
		os.Remove(filepath.Join(l.dir, "ledger.log")))
}
