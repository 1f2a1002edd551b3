package ledger

import (
	"context"
	"path"
)

// PlannedChange is a change that has not been made yet, and the current state of its object.
type PlannedChange struct {
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
	Check(pending []PlannedChange) error
}

// Diff returns the changes that are still to be made, including implied changes, in the
// order in which Apply makes them. It changes nothing. If an earlier change in the list
// removes the path or a parent of it, the current state of the path is empty.
func (l *Ledger) Diff(ctx context.Context, changes []Change) ([]PlannedChange, error) {
	if completer, ok := findDriver[Completer](l); ok {
		var err error
		if changes, err = completer.Complete(changes); err != nil {
			return nil, err
		}
	}
	unfinished := l.unfinishedPaths()
	var pending []PlannedChange
	gone := removals{}
	for _, change := range changes {
		if item, held := unfinished[change.Key()]; held {
			change.Desired = withOriginalAttributes(change, item.Before)
		}
		var now State
		if !gone.contains(change) {
			var err error
			if now, err = l.currentState(ctx, change); err != nil {
				return nil, err
			}
		}
		if change.Matches(now) {
			continue
		}
		pending = append(pending, PlannedChange{Change: change, Now: now})
		if !change.Desired.Present && change.isPath() {
			gone[path.Clean(change.Target)] = true
		}
	}
	return pending, nil
}

// removals is the set of paths that the preceding changes of a list remove.
type removals map[string]bool

// contains reports whether the change's path is in the set or below a path in the set.
func (r removals) contains(c Change) bool {
	if len(r) == 0 || !c.isPath() {
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

// withOriginalAttributes returns the desired state with unset attributes filled from the state before an
// interrupted run. A change of the owner clears setuid. If the run was killed before it set
// the mode again, the loss must not become permanent.
func withOriginalAttributes(c Change, before State) State {
	want := c.Desired
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

// findDriver returns a driver that implements the optional interface T. All path kinds share one
// driver, the only driver that implements any interface searched for here.
func findDriver[T any](l *Ledger) (T, bool) {
	for _, driver := range l.drivers {
		if gifted, ok := driver.(T); ok {
			return gifted, true
		}
	}
	var none T
	return none, false
}

// unfinishedPaths returns the path items of interrupted runs by key. Their objects may or may
// not have changed.
func (l *Ledger) unfinishedPaths() map[string]Item {
	items := map[string]Item{}
	for _, item := range l.Items() {
		if !item.Done && !item.external && item.isPath() {
			items[item.Key()] = item
		}
	}
	return items
}

// completedUnfinished returns, in order, the unfinished items that already have their desired state.
// The "done" record of this run must cover them too.
func (l *Ledger) completedUnfinished(ctx context.Context, pending []PlannedChange) ([]entry, error) {
	changes := map[string]bool{}
	for _, p := range pending {
		changes[p.Key()] = true
	}
	var entries []entry
	for _, item := range l.Items() {
		if item.Done || item.external || !item.isPath() || changes[item.Key()] {
			continue
		}
		now, err := l.currentState(ctx, item.Change)
		if err != nil {
			return nil, err
		}
		if item.Matches(now) {
			entries = append(entries, entry{Change: item.Change, Before: item.Before})
		}
	}
	return entries, nil
}
