package ledger

import (
	"context"
	"path"
)

// Pending is a change that is still to be made, and what is there now.
type Pending struct {
	Change
	Now State `json:"now"`
}

// Completer is a Driver whose changes imply others, as a file implies the
// directories above it.
type Completer interface {
	Complete(changes []Change) ([]Change, error)
}

// Checker is a Driver that can tell before anything is changed that the changes
// cannot all be made, or could not be given back.
type Checker interface {
	Check(pending []Pending) error
}

// Diff tells which of the changes are still to be made, with those that they
// imply, in the order in which they will be made. It changes nothing. What is
// there now, of a path that an earlier change of the list removes (or that lies
// below one), is nothing.
func (l *Ledger) Diff(ctx context.Context, changes []Change) ([]Pending, error) {
	if completer, ok := first[Completer](l); ok {
		var err error
		if changes, err = completer.Complete(changes); err != nil {
			return nil, err
		}
	}
	unfinished := l.unfinished()
	var pending []Pending
	gone := removals{}
	for _, change := range changes {
		if item, held := unfinished[change.Key()]; held {
			change.Want = keepOpen(change, item.Before)
		}
		var now State
		if !gone.hide(change) {
			var err error
			if now, err = l.look(ctx, change); err != nil {
				return nil, err
			}
		}
		if change.Same(now) {
			continue
		}
		pending = append(pending, Pending{Change: change, Now: now})
		if !change.Want.Present && change.onPath() {
			gone[path.Clean(change.Target)] = true
		}
	}
	return pending, nil
}

// removals are the paths that a list has removed so far.
type removals map[string]bool

// hide tells whether a change's path is among them or below one.
func (r removals) hide(c Change) bool {
	if len(r) == 0 || !c.onPath() {
		return false
	}
	for p := path.Clean(c.Target); ; p = path.Dir(p) {
		if r[p] {
			return true
		}
		if p == path.Dir(p) {
			return false
		}
	}
}

// keepOpen fills what a wish leaves open from how the thing was before a run
// that was killed: a change of the owner clears setuid, and a kill before the
// mode was set again must not make that last.
func keepOpen(c Change, before State) State {
	want := c.Want
	ownAttributes := c.Kind == File || c.Kind == Directory // a hard link has those of its file
	if !ownAttributes || !want.Present || !before.Present || before.Type != fileType(c.Kind) {
		return want
	}
	if want.Mode == nil {
		want.Mode = before.Mode
	}
	if want.UID == nil {
		want.UID = before.UID
	}
	if want.GID == nil {
		want.GID = before.GID
	}
	return want
}

// first finds a driver with a gift; all path kinds share one driver, the only
// one that has any of those that are looked for here.
func first[T any](l *Ledger) (T, bool) {
	for _, driver := range l.drivers {
		if gifted, ok := driver.(T); ok {
			return gifted, true
		}
	}
	var none T
	return none, false
}

// unfinished are the paths that a run which was ended may have changed or not.
func (l *Ledger) unfinished() map[string]Item {
	items := map[string]Item{}
	for _, item := range l.Items() {
		if !item.Done && !item.bracket && item.onPath() {
			items[item.Key()] = item
		}
	}
	return items
}

// settled lists, in their order, the unfinished things that are as they were
// meant and need no change now: this run's "done" shall count for them too.
func (l *Ledger) settled(ctx context.Context, pending []Pending) ([]entry, error) {
	changes := map[string]bool{}
	for _, p := range pending {
		changes[p.Key()] = true
	}
	var entries []entry
	for _, item := range l.Items() {
		if item.Done || item.bracket || !item.onPath() || changes[item.Key()] {
			continue
		}
		now, err := l.look(ctx, item.Change)
		if err != nil {
			return nil, err
		}
		if item.Same(now) {
			entries = append(entries, entry{Change: item.Change, Before: item.Before})
		}
	}
	return entries, nil
}
