package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Outcome is the result of an undo.
type Outcome struct {
	Restored []Item
	Kept     []Difference // changed by others since; not restored
}

// Grouped is a Driver that restores many objects with fewer syncs than one by one.
type Grouped interface{ Begin() Restoring }

// Restoring is a batch of objects to restore. They are restored and durable after Finish.
// Until then they can be restored again.
type Restoring interface {
	Restore(ctx context.Context, c Change, before State) error
	// Busy reports whether Finish will still change the object.
	Busy(c Change) (bool, error)
	// Finish returns an error for each target that could not be restored. If err is not
	// nil, no object counts as restored.
	Finish() (failed map[string]error, err error)
	Abort()
}

// Halfway is a Driver that restores objects in more than one step.
type Halfway interface {
	// Halfway reports whether an interrupted undo can have left the object in the state
	// now, which is neither the original nor the desired state.
	Halfway(c Change, before, now State) (bool, error)
}

// Bearing is a Driver of objects that the host depends on, such as its network connection,
// and that depend on older changes. If such an object cannot be restored, the older changes
// must stay.
type Bearing interface{ Bears() bool }

// Undo restores everything, newest first, as far as possible. An error of one object does
// not stop the others. All errors are joined, and the next Undo retries failed objects.
// Only an error of a critical object (CriticalDriver) stops it. A directory that is not
// empty is retried at the end. If it is still not empty, it contains foreign files and is
// kept.
func (l *Ledger) Undo(ctx context.Context) (Outcome, error) {
	items := l.Items()
	slices.Reverse(items)
	changes := make([]Change, 0, len(items))
	for _, item := range items {
		changes = append(changes, item.Change)
	}
	if err := l.tidy(ctx, changes); err != nil {
		return Outcome{}, err
	}
	u := &undoing{l: l, covers: newCovers(items)}
	defer u.abort()
	var full []int
	for i, item := range items {
		if ctx.Err() != nil {
			return u.end(ctx.Err())
		}
		err := u.giveBack(ctx, i, item)
		if errors.Is(err, unix.ENOTEMPTY) {
			full = append(full, i)
			continue
		}
		if bearing, ok := l.drivers[item.Kind].(Bearing); ok && err != nil && bearing.Bears() {
			return u.end(err)
		}
		u.fail(item, err)
	}
	u.flush()
	for _, i := range full {
		err := u.giveBack(ctx, i, items[i])
		if errors.Is(err, unix.ENOTEMPTY) {
			var now State
			if now, err = l.look(ctx, items[i].Change); err == nil {
				err = u.kept(ctx, items[i], now)
			}
		}
		u.fail(items[i], err)
	}
	return u.end(nil)
}

// undoing is the state of a running Undo.
type undoing struct {
	l       *Ledger
	covers  covers
	outcome Outcome
	errs    []error
	failed  []string  // targets that could not be restored
	driver  Driver    // owner of batch
	back    Restoring // nil if nothing is staged
	waiting []Item    // restored by batch, but not durable yet
}

// giveBack restores one item; at is its index in the list of items.
func (u *undoing) giveBack(ctx context.Context, at int, item Item) error {
	driver, err := u.l.driver(item.Kind)
	if err != nil {
		return err
	}
	if err := u.makeWay(item, driver); err != nil || u.blocked(item) {
		return err
	}
	now, err := driver.Look(ctx, item.Change)
	if err != nil {
		return err
	}
	what, err := u.judge(ctx, at, item, now)
	switch {
	case err != nil:
		return err
	case what == keep:
		return u.kept(ctx, item, now)
	case what == nothing:
		return u.restored(item)
	}
	before := item.Before
	if before.Digest != "" {
		if before.Content, err = u.l.original(before.Digest); err != nil {
			return err
		}
	}
	if u.back == nil {
		if err := driver.Restore(ctx, item.Change, before); err != nil {
			return u.notRestored(item, err)
		}
		return u.restored(item)
	}
	if err := u.back.Restore(ctx, item.Change, before); err != nil {
		return u.notRestored(item, err)
	}
	u.waiting = append(u.waiting, item)
	return nil
}

// makeWay finishes the current batch if the item has another driver, or if the batch would
// still change the item. It begins a new batch if there is none.
func (u *undoing) makeWay(item Item, driver Driver) error {
	if u.back != nil {
		busy, err := u.back.Busy(item.Change)
		if err != nil {
			return err
		}
		if busy || u.driver != driver || u.linked(item) {
			u.flush()
		}
	}
	if grouped, ok := driver.(Grouped); ok && u.back == nil {
		u.back, u.driver = grouped.Begin(), driver
	}
	return nil
}

// judge returns the action for an item. It also considers older items. While an object that
// an older item removed is still or again present, the agent's object cannot be at this
// path or below. An object that an older item created is not foreign.
func (u *undoing) judge(ctx context.Context, at int, item Item, now State) (verdict, error) {
	under, err := u.covers.under(ctx, u.l, at, item, now)
	if err != nil || under {
		return nothing, err
	}
	what := item.judge(now)
	if what != keep {
		return what, nil
	}
	if u.covers.known(at, item, now) {
		return nothing, nil
	}
	if halfway, ok := u.l.drivers[item.Kind].(Halfway); ok {
		if ours, err := halfway.Halfway(item.Change, item.Before, now); err != nil || ours {
			return restore, err
		}
	}
	return keep, nil
}

// restored records a restored item. The record is not synced, because restoring twice
// changes nothing.
func (u *undoing) restored(item Item) error {
	u.outcome.Restored = append(u.outcome.Restored, item)
	u.l.tell(item.Change)
	return u.l.append(record{Type: undone, Key: item.Key()}, false)
}

func (u *undoing) kept(ctx context.Context, item Item, now State) error {
	aside, err := u.aside(ctx, item, now)
	if err != nil {
		return err
	}
	u.outcome.Kept = append(u.outcome.Kept, Difference{Item: item, Now: now, Aside: aside})
	return u.l.append(record{Type: undone, Key: item.Key()}, false)
}

// flush makes the current batch durable, and then records its items as restored.
func (u *undoing) flush() {
	if u.back == nil {
		return
	}
	failed, err := u.back.Finish()
	u.errs = append(u.errs, err)
	for _, item := range u.waiting {
		switch cause := failed[item.Target]; {
		case cause != nil:
			u.fail(item, u.notRestored(item, cause))
		case err != nil:
			u.block(item)
		default:
			u.errs = append(u.errs, u.restored(item))
		}
	}
	u.abort()
}

func (u *undoing) abort() {
	if u.back != nil {
		u.back.Abort()
	}
	u.back, u.driver, u.waiting = nil, nil, nil
}

// end finishes the undo and returns its outcome, with why joined to the other errors.
func (u *undoing) end(why error) (Outcome, error) {
	u.flush()
	if u.l.log != nil {
		err := u.l.log.Sync()
		u.l.behind = err != nil
		u.errs = append(u.errs, err)
	}
	return u.outcome, errors.Join(append(u.errs, why)...)
}

func sameExactly(a, b State) bool {
	// Compared as in the ledger's file, where nil and empty are equal.
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
