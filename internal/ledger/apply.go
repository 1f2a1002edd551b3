// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"slices"
)

// Apply makes the changes that differ from the current state and returns them. All data
// that a rollback needs is durable before the first change is made, and so are the backups of
// managed files that were edited since. All changes are durable when Apply returns.
func (l *Ledger) Apply(ctx context.Context, step string, changes []Change) ([]PlannedChange, error) {
	if err := l.drivers.cleanUp(ctx, l.interruptedItems()); err != nil {
		return nil, err
	}
	pending, err := l.Diff(ctx, changes)
	if err != nil {
		return nil, err
	}
	if err := l.drivers.Paths.checkObstacles(pending); err != nil {
		return nil, err
	}
	completed, err := l.completedUnfinished(ctx, pending)
	if err != nil || len(pending)+len(completed) == 0 {
		return nil, err
	}
	if err := l.backUpEdits(ctx, pending); err != nil {
		return nil, err
	}
	seq, err := l.recordIntent(record{Step: step, Entries: completed}, pending)
	if err != nil {
		return nil, err
	}
	for i := range pending {
		pending[i].Now.Content = nil // saved by recordIntent; the content can be large
	}
	if err := l.setAll(ctx, pending); err != nil {
		return nil, err
	}
	for _, p := range pending {
		l.events.Changed(string(p.Kind), p.Target)
	}
	return pending, l.append(record{Type: done, Intent: seq}, true)
}

// interruptedItems returns the items whose runs can have left temporary files or processes.
// Files that TrackExternal records are not written by the agent.
func (l *Ledger) interruptedItems() []Item {
	return slices.DeleteFunc(l.Items(), func(i Item) bool { return i.Done || (i.external && i.Kind.isPath()) })
}

// completedUnfinished returns, in order, the unfinished items that already have their desired state.
// The "done" record of this run must cover them too.
func (l *Ledger) completedUnfinished(ctx context.Context, pending []PlannedChange) ([]entry, error) {
	isPending := map[string]bool{}
	for _, p := range pending {
		isPending[p.Key()] = true
	}
	var entries []entry
	for _, item := range l.Unfinished() {
		if !item.Kind.isPath() || isPending[item.Key()] {
			continue
		}
		now, err := l.drivers.currentState(ctx, item.Change)
		if err != nil {
			return nil, err
		}
		if item.Matches(now) {
			entries = append(entries, entry{Change: item.Change, Before: item.Before})
		}
	}
	return entries, nil
}

// setAll makes the changes in order, each run of path changes at once. They are durable when it returns.
func (l *Ledger) setAll(ctx context.Context, pending []PlannedChange) error {
	hasResources := slices.ContainsFunc(pending, func(p PlannedChange) bool { return !p.Kind.isPath() })
	for len(pending) > 0 {
		paths := 0
		for paths < len(pending) && pending[paths].Kind.isPath() {
			paths++
		}
		if paths > 0 {
			if err := l.drivers.Paths.setAll(ctx, pending[:paths]); err != nil {
				return err
			}
			pending = pending[paths:]
			continue
		}
		next := pending[0]
		driver := l.drivers.Resources[next.Kind]
		if driver == nil {
			return fmt.Errorf("no driver can change objects of kind %s", next.Kind)
		}
		if err := driver.Set(ctx, next.Change, next.Now); err != nil {
			return err
		}
		pending = pending[1:]
	}
	if hasResources {
		return l.drivers.syncResources()
	}
	return nil
}

// TrackExternal records the state before a change that the ledger does not make itself (by dnf,
// NetworkManager or kubelet's certificates). The returned function records the state after
// the change.
func (l *Ledger) TrackExternal(ctx context.Context, step string, changes ...Change) (func() error, error) {
	states := func() ([]State, error) {
		all := make([]State, 0, len(changes))
		for _, change := range changes {
			now, err := l.drivers.currentState(ctx, change)
			if err != nil {
				return nil, err
			}
			all = append(all, now)
		}
		return all, nil
	}
	before, err := states()
	if err != nil {
		return nil, err
	}
	pending := make([]PlannedChange, 0, len(changes))
	for i, change := range changes {
		pending = append(pending, PlannedChange{Change: change, Now: before[i]})
	}
	seq, err := l.recordIntent(record{Step: step, External: true}, pending)
	if err != nil {
		return nil, err
	}
	return func() error {
		after, err := states()
		if err != nil {
			return err
		}
		return l.append(record{Type: done, Intent: seq, After: after}, true)
	}, nil
}

// recordIntent makes the current states durable, then the intent to change them. It returns the
// sequence number of the intent record. The header precedes the first original, so that originals
// without a header mean that the log was lost.
func (l *Ledger) recordIntent(r record, pending []PlannedChange) (int, error) {
	for _, p := range pending {
		r.Entries = append(r.Entries, entry{Change: p.Change, Before: p.Now})
	}
	if err := l.writeHeader(); err != nil {
		return 0, err
	}
	if err := l.saveOriginals(pending); err != nil {
		return 0, err
	}
	r.Type = intent
	err := l.append(r, true)
	return len(l.records) - 1, err
}
