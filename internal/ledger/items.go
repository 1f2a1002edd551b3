package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Item is one object that the ledger has changed: its state before the first change and the
// desired state of the last change.
type Item struct {
	Change
	Step   string `json:"step"`
	Before State  `json:"before"`
	Done   bool   `json:"done"` // false if the run was interrupted

	external       bool    // changed externally; Desired is undefined until Done
	earlierDesired []State // desired states of earlier runs
}

// Items returns the changed objects that are not restored yet, in the order of the first
// change of each.
func (l *Ledger) Items() []Item {
	var items []Item
	index := map[string]int{}
	gone := map[int]bool{} // indexes in items of restored objects
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
				if seen {
					items[at].earlierDesired = append(items[at].earlierDesired, items[at].Desired)
				}
				e.Desired = carryOver(items[at].Desired, e.Desired)
				items[at].Change, items[at].Step, items[at].Done, items[at].external = e.Change, r.Step, false, r.External
			}
		case done:
			for i, key := range bySeq[r.Of] {
				at, held := index[key]
				if !held {
					continue
				}
				items[at].Done = true
				if i < len(r.After) {
					if !items[at].external { // remember the agent's own desired state
						items[at].earlierDesired = append(items[at].earlierDesired, items[at].Desired)
					}
					items[at].Desired = r.After[i]
				}
			}
		case undone:
			if at, held := index[r.Key]; held {
				gone[at] = true
				delete(index, r.Key)
			}
		}
	}
	held := make([]Item, 0, len(index))
	for i, item := range items {
		if !gone[i] {
			held = append(held, item)
		}
	}
	return held
}

// carryOver returns the later desired state with unset fields filled from the earlier
// state. A unit that was first enabled and later started must be both.
func carryOver(earlier, later State) State {
	if earlier.Present && later.Present {
		later.Enabled = cmp.Or(later.Enabled, earlier.Enabled)
		later.Active = cmp.Or(later.Active, earlier.Active)
	}
	return later
}

// Difference is an object whose current state differs from the state that the ledger
// recorded.
type Difference struct {
	Item
	Now    State  `json:"now"`
	Backup string `json:"aside,omitempty"` // after an undo: path of the backup
}

// ExternalDriver is a Driver of objects that other components change all the time. The ledger
// records only their state before the join.
type ExternalDriver interface{ External() }

// Drift returns the objects that another process or an administrator has changed since. It
// skips unreadable objects and joins their errors.
func (l *Ledger) Drift(ctx context.Context) ([]Difference, error) {
	var drift []Difference
	var errs []error
	for _, item := range l.Items() {
		if _, theirs := l.drivers[item.Kind].(ExternalDriver); theirs {
			continue // changes continuously
		}
		if item.external && !item.Done {
			continue // the desired state is unknown
		}
		now, err := l.currentState(ctx, item.Change)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !item.Matches(now) {
			drift = append(drift, Difference{Item: item, Now: now})
		}
	}
	return drift, errors.Join(errs...)
}

// KeptMessage returns a message about an object that an undo has kept because it was changed by
// others, including the path of the backup.
func (d Difference) KeptMessage() string {
	text := fmt.Sprintf("%s %s was changed by somebody else since (now: %s); it stays", d.Kind, d.Target, d.Now)
	if d.Backup != "" {
		text += ", and how it was before is in " + d.Backup
	}
	return text
}
