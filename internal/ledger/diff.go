package ledger

import (
	"context"
	"path"
)

// Pending is a change that has not been made yet, and the current state of its object.
type Pending struct {
	Change
	Now State `json:"now"`
}

// Completer is a Driver whose changes imply other changes, as a file implies its parent
// directories.
type Completer interface {
	Complete(changes []Change) ([]Change, error)
}

// Checker is a Driver that can detect in advance that changes cannot all be made or
// restored.
type Checker interface {
	Check(pending []Pending) error
}

// Diff returns the changes that are still to be made, including implied changes, in the
// order in which Apply makes them. It changes nothing. If an earlier change in the list
// removes the path or a parent of it, the current state of the path is empty.
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

// removals is the set of paths that the preceding changes of a list remove.
type removals map[string]bool

// hide reports whether the change's path is in the set or below a path in the set.
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

// keepOpen returns the desired state with unset attributes filled from the state before an
// interrupted run. A change of the owner clears setuid. If the run was killed before it set
// the mode again, the loss must not become permanent.
func keepOpen(c Change, before State) State {
	want := c.Want
	ownAttributes := c.Kind == File || c.Kind == Directory // a hard link shares its file's
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

// first returns a driver that implements the optional interface T. All path kinds share one
// driver, the only driver that implements any interface searched for here.
func first[T any](l *Ledger) (T, bool) {
	for _, driver := range l.drivers {
		if gifted, ok := driver.(T); ok {
			return gifted, true
		}
	}
	var none T
	return none, false
}

// unfinished returns the path items of interrupted runs by key. Their objects may or may
// not have changed.
func (l *Ledger) unfinished() map[string]Item {
	items := map[string]Item{}
	for _, item := range l.Items() {
		if !item.Done && !item.bracket && item.onPath() {
			items[item.Key()] = item
		}
	}
	return items
}

// settled returns, in order, the unfinished items that already have their desired state.
// The "done" record of this run must cover them too.
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
