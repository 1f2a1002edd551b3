package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Item is one thing that the ledger holds: how it was before the first change
// and how it was left by the last.
type Item struct {
	Change
	Step   string `json:"step"`
	Before State  `json:"before"`
	Done   bool   `json:"done"` // false when a run was ended before it could say so

	bracket bool    // somebody else makes the change; before it is done, Want means nothing
	earlier []State // what runs before the last wished
}

// Items lists what was changed and not given back, in the order of the first
// change of each.
func (l *Ledger) Items() []Item {
	var items []Item
	index := map[string]int{}
	gone := map[int]bool{} // places in items of what was given back
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
					items[at].earlier = append(items[at].earlier, items[at].Want)
				}
				e.Want = carryOver(items[at].Want, e.Want)
				items[at].Change, items[at].Step, items[at].Done, items[at].bracket = e.Change, r.Step, false, r.Bracket
			}
		case done:
			for i, key := range bySeq[r.Of] {
				at, held := index[key]
				if !held {
					continue
				}
				items[at].Done = true
				if i < len(r.After) {
					if !items[at].bracket { // what the agent itself has made stays known
						items[at].earlier = append(items[at].earlier, items[at].Want)
					}
					items[at].Want = r.After[i]
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
	Now   State  `json:"now"`
	Aside string `json:"aside,omitempty"` // after an undo: where what was there before is now
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
		if item.bracket && !item.Done {
			continue // its desired state is not known
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

// Stays says, of a thing that an undo has left to somebody else, what became of
// it and of what was there before.
func (d Difference) Stays() string {
	text := fmt.Sprintf("%s %s was changed by somebody else since (now: %s); it stays", d.Kind, d.Target, d.Now)
	if d.Aside != "" {
		text += ", and how it was before is in " + d.Aside
	}
	return text
}
