// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// olderItems finds, for the items of an undo (newest first), the older items at the same path
// or at a parent of it.
type olderItems struct {
	items  []Item
	byPath map[string][]int
}

func newOlderItems(items []Item) olderItems {
	o := olderItems{items: items, byPath: map[string][]int{}}
	for i, item := range items {
		if item.Kind.isPath() {
			p := path.Clean(item.Target)
			o.byPath[p] = append(o.byPath[p], i)
		}
	}
	return o
}

// isShadowed reports whether an older item removed this path or a parent of it and the removed
// object is present, because the removal was interrupted or already undone. The path then
// does not refer to this item's object. For example, a parent can be a symbolic link again.
func (o olderItems) isShadowed(ctx context.Context, drivers Drivers, at int, item Item, now State) (bool, error) {
	if !item.Kind.isPath() {
		return false, nil
	}
	target := path.Clean(item.Target)
	for p := target; ; p = path.Dir(p) {
		for _, i := range o.byPath[p] {
			older := o.items[i]
			if i <= at || older.Desired.Present || older.external || (p == target && item.Matches(now)) {
				continue
			}
			found, err := drivers.currentState(ctx, older.Change)
			if err != nil {
				return false, err
			}
			if found.Present && found.Type == older.Before.Type {
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
func (o olderItems) isOwnedByOlder(at int, item Item, now State) bool {
	return slices.ContainsFunc(o.byPath[path.Clean(item.Target)], func(i int) bool {
		return i > at && o.items[i].Desired.Present && o.items[i].Matches(now)
	})
}

// recordFailure records the error of an item and blocks the older items that depend on the item.
func (u *undoRun) recordFailure(item Item, err error) {
	if err != nil {
		u.errs = append(u.errs, err)
		u.blockOlder(item)
	}
}

// blockOlder marks an item as not restored, so that older items wait. A hard link is recognized
// by being the same file as its target, so the target must wait too.
func (u *undoRun) blockOlder(item Item) {
	u.failed = append(u.failed, item.Target)
	if item.Kind == HardLink {
		u.failed = append(u.failed, item.Desired.Link)
	}
}

// isBlocked reports whether an item must wait for a newer item that could not be restored, at
// the same path or below. The path is then occupied by the newer item, not by another
// process, and the next undo restores both. Only the attributes of a directory do not
// depend on its contents.
func (u *undoRun) isBlocked(item Item) bool {
	onlyAttributes := item.Kind == Directory && item.Before.Type == hostfs.Directory
	return slices.ContainsFunc(u.failed, func(p string) bool {
		return hostfs.IsWithin(p, item.Target) && (!onlyAttributes || path.Clean(p) == path.Clean(item.Target))
	})
}

// flushBefore finishes the current batch if the item is not a path, if the batch would
// still change the item, or if it would replace a hard link to the item's path.
func (u *undoRun) flushBefore(item Item) error {
	if u.batch == nil {
		return nil
	}
	if item.Kind.isPath() {
		staged, err := u.batch.files.IsStaged(item.Target)
		if err != nil {
			return err
		}
		hardLinked := slices.ContainsFunc(u.staged, func(s Item) bool {
			return s.Kind == HardLink && s.Before.Present && path.Clean(s.Desired.Link) == path.Clean(item.Target)
		})
		if !staged && !hardLinked {
			return nil
		}
	}
	u.flush()
	return nil
}
