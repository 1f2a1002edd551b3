package ledger

import (
	"context"
	"path"
)

// olderItems finds, for the items of an undo (newest first), the older items at the same path
// or at a parent of it.
type olderItems struct {
	items  []Item
	byPath map[string][]int
}

func newOlderItems(items []Item) olderItems {
	c := olderItems{items: items, byPath: map[string][]int{}}
	for i, item := range items {
		if item.isPath() {
			p := path.Clean(item.Target)
			c.byPath[p] = append(c.byPath[p], i)
		}
	}
	return c
}

// isShadowed reports whether an older item removed this path or a parent of it and the removed
// object is present, because the removal was interrupted or already undone. The path then
// does not refer to this item's object. For example, a parent can be a symbolic link again.
func (c olderItems) isShadowed(ctx context.Context, l *Ledger, at int, item Item, now State) (bool, error) {
	if !item.isPath() {
		return false, nil
	}
	target := path.Clean(item.Target)
	for p := target; ; p = path.Dir(p) {
		for _, i := range c.byPath[p] {
			older := c.items[i]
			if i <= at || older.Desired.Present || older.external || (p == target && item.Matches(now)) {
				continue
			}
			there, err := l.currentState(ctx, older.Change)
			if err != nil {
				return false, err
			}
			if there.Present && there.Type == older.Before.Type {
				return true, nil
			}
		}
		if p == path.Dir(p) {
			return false, nil
		}
	}
}

// isOwnedByOlder reports whether an older item of another kind created the object at the item's
// path.
func (c olderItems) isOwnedByOlder(at int, item Item, now State) bool {
	for _, i := range c.byPath[path.Clean(item.Target)] {
		if i > at && c.items[i].Desired.Present && c.items[i].Matches(now) {
			return true
		}
	}
	return false
}
