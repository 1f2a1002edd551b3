// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"reflect"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Position identifies the present state of the ledger for Rewind: the number of its records.
func (l *Ledger) Position() int { return len(l.records) }

// Rewind records that the selected objects are again as they were when the ledger had the position. It changes no
// object: a host in image mode that boots an earlier deployment has the /etc of that deployment, without the changes
// that were made since. Rewind can be repeated.
func (l *Ledger) Rewind(position int, selected func(Item) bool) error {
	earlier := itemsOf(l.records[:min(position, len(l.records))])
	find := func(items []Item, key string) (Item, bool) {
		at := slices.IndexFunc(items, func(item Item) bool { return item.Key() == key })
		if at < 0 {
			return Item{}, false
		}
		return items[at], true
	}
	items := l.Items()
	for _, item := range items {
		if _, existed := find(earlier, item.Key()); !existed && selected(item) {
			if err := l.append(record{Type: undone, Key: item.Key()}, false); err != nil {
				return err
			}
		}
	}
	var stepNames []string
	again := map[string][]entry{} // by the step that made the changes
	for _, item := range earlier {
		now, exists := find(items, item.Key())
		if selected(item) && (!exists || !reflect.DeepEqual(now.Desired, item.Desired)) {
			stepNames = lists.AppendMissing(stepNames, item.Step)
			again[item.Step] = append(again[item.Step], entry{Change: item.Change, Before: item.Before})
		}
	}
	for _, name := range stepNames {
		if err := l.append(record{Type: intent, Step: name, Entries: again[name]}, true); err != nil {
			return err
		}
		if err := l.append(record{Type: done, Intent: len(l.records) - 1}, true); err != nil {
			return err
		}
	}
	return l.sync()
}
