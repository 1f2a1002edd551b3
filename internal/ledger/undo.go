package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Outcome is what an undo did.
type Outcome struct {
	Restored []Item
	Kept     []Difference // changed by somebody else since; theirs stays
}

// Grouped is a Driver that gives many things back with fewer barriers than one
// by one.
type Grouped interface{ Begin() Restoring }

// Restoring gives things back. What it gave back is there, and durable, after
// Finish; until then it can be given back again.
type Restoring interface {
	Restore(ctx context.Context, c Change, before State) error
	Busy(c Change) (bool, error) // whether Finish will still change the thing
	// Finish returns an error for each target that could not be restored after
	// all. After an error of its own nothing counts as restored.
	Finish() (failed map[string]error, err error)
	Abort()
}

// Halfway is a Driver of things that are given back in more than one step.
type Halfway interface {
	// Halfway tells, of a thing that is neither as it was nor as wished, whether
	// an undo that was killed can have left it so.
	Halfway(c Change, before, now State) (bool, error)
}

// Bearing is a Driver of things that carry the host and stand on older changes:
// where one cannot be given back, what it stands on has to stay too.
type Bearing interface{ Bears() bool }

// Undo gives everything back, newest first, as far as it can: an error with
// one thing does not stop the others, all errors are joined, and what failed
// is tried again by the next Undo. Only a thing that carries the host (Bearing)
// stops it. A directory that is not empty yet is tried
// once more in the end; if it still is not, what is in it is somebody else's,
// and it stays.
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

// undoing is one Undo on its way.
type undoing struct {
	l       *Ledger
	covers  covers
	outcome Outcome
	errs    []error
	failed  []string  // targets of what could not be restored
	driver  Driver    // whose things back gives back
	back    Restoring // nil when nothing waits
	waiting []Item    // given back by back, not durable yet
}

// giveBack gives one thing back, at is its place among the items.
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

// makeWay finishes what waits when the item is another driver's, or still to be
// changed by it, and begins a new group where there is none.
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

// judge also looks at the older things: as long as what one of them removed is
// still (or again) there, nothing of ours can be in its place or below it; and
// what an older one made is no stranger's.
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

// restored and kept note what was done. The note is not synced by itself:
// giving back twice changes nothing.
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

// flush makes durable what waits, and only then notes it.
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

// end finishes the undo, for whatever reason it ends.
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
	// As they are written to the ledger: there nil and empty are one.
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
