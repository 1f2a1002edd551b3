// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"path"
	"slices"
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
	targetStates   []State // of a hard link: the states of its target before and after each run
}

// Items returns the changed objects that are not restored yet, in the order of the first
// change of each.
func (l *Ledger) Items() []Item { return itemsOf(l.records) }

// itemsOf returns the items of a ledger with these records.
func itemsOf(records []record) []Item {
	var all []*Item
	current := map[string]*Item{} // by key; restored items are removed
	keys := map[int][]string{}    // by the sequence number of the intent
	for _, r := range records {
		switch r.Type {
		case intent:
			for _, e := range r.Entries {
				item := current[e.Key()]
				if item == nil {
					item = &Item{Before: e.Before}
					current[e.Key()] = item
					all = append(all, item)
				} else {
					item.earlierDesired = append(item.earlierDesired, item.Desired)
				}
				e.Desired = carryOver(item.Desired, e.Desired)
				item.Change, item.Step, item.Done, item.external = e.Change, r.Step, false, r.External
				keys[r.Seq] = append(keys[r.Seq], e.Key())
			}
		case done:
			for i, key := range keys[r.Intent] {
				item := current[key]
				if item == nil {
					continue
				}
				item.Done = true
				if i < len(r.After) {
					if !item.external { // remember the agent's own desired state
						item.earlierDesired = append(item.earlierDesired, item.Desired)
					}
					item.Desired = r.After[i]
				}
			}
		case undone:
			delete(current, r.Key)
		}
	}
	items := make([]Item, 0, len(current))
	for _, item := range all {
		if current[item.Key()] == item {
			items = append(items, *item)
		}
	}
	addTargetStates(items)
	return items
}

// possibleResults returns the states of the object that this or an earlier run can have left.
func (i Item) possibleResults() []State {
	return slices.Concat([]State{i.Desired}, i.earlierDesired, i.targetStates)
}

// addTargetStates sets targetStates of each hard link. A run that was interrupted between the replacement of the target
// and the new link leaves the earlier file at the path of the link.
func addTargetStates(items []Item) {
	for i := range items {
		link := &items[i]
		if link.Kind != HardLink || !link.Desired.Present {
			continue
		}
		for _, target := range items {
			if (target.Kind != File && target.Kind != Symlink) || path.Clean(target.Target) != path.Clean(link.Desired.Link) {
				continue
			}
			for _, state := range append([]State{target.Before, target.Desired}, target.earlierDesired...) {
				state.Type = cmp.Or(state.Type, target.Kind.FileType())
				link.targetStates = append(link.targetStates, state)
			}
		}
	}
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

// Unfinished returns the changes of interrupted runs that are not recorded as done. The
// next run makes or settles them. External changes are excluded, because no run has to
// finish them.
func (l *Ledger) Unfinished() []Item {
	return slices.DeleteFunc(l.Items(), func(i Item) bool { return i.Done || i.external })
}
