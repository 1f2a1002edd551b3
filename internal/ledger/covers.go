package ledger

import (
	"context"
	"path"
)

// covers finds, for the items of an undo (newest first), the older items at the same path
// or at a parent of it.
type covers struct {
	items []Item
	at    map[string][]int
}

func newCovers(items []Item) covers {
	c := covers{items: items, at: map[string][]int{}}
	for i, item := range items {
		if item.onPath() {
			p := path.Clean(item.Target)
			c.at[p] = append(c.at[p], i)
		}
	}
	return c
}

// under reports whether an older item removed this path or a parent of it and the removed
// object is present, because the removal was interrupted or already undone. The path then
// does not refer to this item's object. For example, a parent can be a symbolic link again.
func (c covers) under(ctx context.Context, l *Ledger, at int, item Item, now State) (bool, error) {
	if !item.onPath() {
		return false, nil
	}
	target := path.Clean(item.Target)
	for p := target; ; p = path.Dir(p) {
		for _, i := range c.at[p] {
			older := c.items[i]
			if i <= at || older.Want.Present || older.bracket || (p == target && item.Same(now)) {
				continue
			}
			there, err := l.look(ctx, older.Change)
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

// known reports whether an older item of another kind created the object at the item's
// path.
func (c covers) known(at int, item Item, now State) bool {
	for _, i := range c.at[path.Clean(item.Target)] {
		if i > at && c.items[i].Want.Present && c.items[i].Same(now) {
			return true
		}
	}
	return false
}
