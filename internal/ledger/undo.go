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

// BatchRestorer is a Driver that restores many objects with fewer syncs than one by one.
type BatchRestorer interface{ BeginRestore() RestoreBatch }

// RestoreBatch is a batch of objects to restore. They are restored and durable after Finish.
// Until then they can be restored again.
type RestoreBatch interface {
	Restore(ctx context.Context, c Change, before State) error
	// IsPending reports whether Finish will still change the object.
	IsPending(c Change) (bool, error)
	// Finish returns an error for each target that could not be restored. If err is not
	// nil, no object counts as restored.
	Finish() (failed map[string]error, err error)
	Abort()
}

// PartialRestorer is a Driver that restores objects in more than one step.
type PartialRestorer interface {
	// IsPartiallyRestored reports whether an interrupted undo can have left the object in the state
	// now, which is neither the original nor the desired state.
	IsPartiallyRestored(c Change, before, now State) (bool, error)
}

// CriticalDriver is a Driver of objects that the host depends on, such as its network connection,
// and that depend on older changes. If such an object cannot be restored, the older changes
// must stay.
type CriticalDriver interface{ IsCritical() bool }

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
	if err := l.cleanUp(ctx, changes); err != nil {
		return Outcome{}, err
	}
	u := &undoRun{l: l, older: newOlderItems(items)}
	defer u.abort()
	var full []int
	for i, item := range items {
		if ctx.Err() != nil {
			return u.finish(ctx.Err())
		}
		err := u.restoreItem(ctx, i, item)
		if errors.Is(err, unix.ENOTEMPTY) {
			full = append(full, i)
			continue
		}
		if bearing, ok := l.drivers[item.Kind].(CriticalDriver); ok && err != nil && bearing.IsCritical() {
			return u.finish(err)
		}
		u.recordFailure(item, err)
	}
	u.flush()
	for _, i := range full {
		err := u.restoreItem(ctx, i, items[i])
		if errors.Is(err, unix.ENOTEMPTY) {
			var now State
			if now, err = l.currentState(ctx, items[i].Change); err == nil {
				err = u.recordKept(ctx, items[i], now)
			}
		}
		u.recordFailure(items[i], err)
	}
	return u.finish(nil)
}

// undoRun is the state of a running Undo.
type undoRun struct {
	l       *Ledger
	older   olderItems
	outcome Outcome
	errs    []error
	failed  []string     // targets that could not be restored
	driver  Driver       // owner of batch
	batch   RestoreBatch // nil if nothing is staged
	staged  []Item       // restored by batch, but not durable yet
}

// restoreItem restores one item; at is its index in the list of items.
func (u *undoRun) restoreItem(ctx context.Context, at int, item Item) error {
	driver, err := u.l.driver(item.Kind)
	if err != nil {
		return err
	}
	if err := u.flushBefore(item, driver); err != nil || u.isBlocked(item) {
		return err
	}
	now, err := driver.Get(ctx, item.Change)
	if err != nil {
		return err
	}
	what, err := u.decide(ctx, at, item, now)
	switch {
	case err != nil:
		return err
	case what == keepAction:
		return u.recordKept(ctx, item, now)
	case what == noAction:
		return u.recordRestored(item)
	}
	before := item.Before
	if before.Digest != "" {
		if before.Content, err = u.l.readOriginal(before.Digest); err != nil {
			return err
		}
	}
	if u.batch == nil {
		if err := driver.Restore(ctx, item.Change, before); err != nil {
			return u.restoreError(item, err)
		}
		return u.recordRestored(item)
	}
	if err := u.batch.Restore(ctx, item.Change, before); err != nil {
		return u.restoreError(item, err)
	}
	u.staged = append(u.staged, item)
	return nil
}

// flushBefore finishes the current batch if the item has another driver, or if the batch would
// still change the item. It begins a new batch if there is none.
func (u *undoRun) flushBefore(item Item, driver Driver) error {
	if u.batch != nil {
		busy, err := u.batch.IsPending(item.Change)
		if err != nil {
			return err
		}
		if busy || u.driver != driver || u.isHardLinkTarget(item) {
			u.flush()
		}
	}
	if grouped, ok := driver.(BatchRestorer); ok && u.batch == nil {
		u.batch, u.driver = grouped.BeginRestore(), driver
	}
	return nil
}

// decide returns the action for an item. It also considers older items. While an object that
// an older item removed is still or again present, the agent's object cannot be at this
// path or below. An object that an older item created is not foreign.
func (u *undoRun) decide(ctx context.Context, at int, item Item, now State) (undoAction, error) {
	under, err := u.older.isShadowed(ctx, u.l, at, item, now)
	if err != nil || under {
		return noAction, err
	}
	what := item.decide(now)
	if what != keepAction {
		return what, nil
	}
	if u.older.isOwnedByOlder(at, item, now) {
		return noAction, nil
	}
	if halfway, ok := u.l.drivers[item.Kind].(PartialRestorer); ok {
		if ours, err := halfway.IsPartiallyRestored(item.Change, item.Before, now); err != nil || ours {
			return restoreAction, err
		}
	}
	return keepAction, nil
}

// recordRestored records a restored item. The record is not synced, because restoring twice
// changes nothing.
func (u *undoRun) recordRestored(item Item) error {
	u.outcome.Restored = append(u.outcome.Restored, item)
	u.l.notify(item.Change)
	return u.l.append(record{Type: undone, Key: item.Key()}, false)
}

func (u *undoRun) recordKept(ctx context.Context, item Item, now State) error {
	aside, err := u.backUpOriginal(ctx, item, now)
	if err != nil {
		return err
	}
	u.outcome.Kept = append(u.outcome.Kept, Difference{Item: item, Now: now, Backup: aside})
	return u.l.append(record{Type: undone, Key: item.Key()}, false)
}

// flush makes the current batch durable, and then records its items as restored.
func (u *undoRun) flush() {
	if u.batch == nil {
		return
	}
	failed, err := u.batch.Finish()
	u.errs = append(u.errs, err)
	for _, item := range u.staged {
		switch cause := failed[item.Target]; {
		case cause != nil:
			u.recordFailure(item, u.restoreError(item, cause))
		case err != nil:
			u.blockOlder(item)
		default:
			u.errs = append(u.errs, u.recordRestored(item))
		}
	}
	u.abort()
}

func (u *undoRun) abort() {
	if u.batch != nil {
		u.batch.Abort()
	}
	u.batch, u.driver, u.staged = nil, nil, nil
}

// finish finishes the undo and returns its outcome, with why joined to the other errors.
func (u *undoRun) finish(why error) (Outcome, error) {
	u.flush()
	if u.l.log != nil {
		err := u.l.log.Sync()
		u.l.needsSync = err != nil
		u.errs = append(u.errs, err)
	}
	return u.outcome, errors.Join(append(u.errs, why)...)
}

func isIdentical(a, b State) bool {
	// Compared as in the ledger's file, where nil and empty are equal.
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
