package ledger

import (
	"context"
	"path"
)

// covers finds, for the items of an undo (newest first), the older ones that
// are about the same path or one above it.
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

// under tells whether an older item removed what is at the item's path, or
// above it, and that thing is there: a run that was killed had not removed it
// yet, or an undo that was killed has given it back. Whatever the item's path
// leads to then, a link above it say, is not what the item is about.
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

// known tells whether what is at the item's path is what an older item of
// another kind made there.
func (c covers) known(at int, item Item, now State) bool {
	for _, i := range c.at[path.Clean(item.Target)] {
		if i > at && c.items[i].Want.Present && c.items[i].Same(now) {
			return true
		}
	}
	return false
}
