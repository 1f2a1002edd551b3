// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Outcome is the result of an undo.
type Outcome struct {
	Restored []Item
	Kept     []Difference // changed by others since; not restored
}

// Undo restores everything, as Revert does.
func (l *Ledger) Undo(ctx context.Context) (Outcome, error) {
	return l.Revert(ctx, func(Item) bool { return true })
}

// Revert restores the selected objects, newest first, as far as possible. The others remain
// unchanged. An error of one object does not stop the others. All errors are joined, and the
// next call retries failed objects. Only an error of a critical object (CriticalDriver) stops
// it. A directory that is not empty is retried at the end. If it is still not empty, it
// contains foreign files and is kept.
func (l *Ledger) Revert(ctx context.Context, selected func(Item) bool) (Outcome, error) {
	items := l.Items()
	slices.Reverse(items)
	if err := l.drivers.cleanUp(ctx, items); err != nil {
		return Outcome{}, err
	}
	u := &undoRun{l: l, older: newOlderItems(items)}
	defer u.abort()
	var notEmpty []int
	for i, item := range items {
		if !selected(item) {
			continue
		}
		if ctx.Err() != nil {
			return u.finish(ctx.Err())
		}
		err := u.restoreItem(ctx, i, item)
		if errors.Is(err, unix.ENOTEMPTY) {
			notEmpty = append(notEmpty, i)
			continue
		}
		if critical, ok := l.drivers.Resources[item.Kind].(CriticalDriver); ok && err != nil && critical.IsCritical() {
			return u.finish(err)
		}
		u.recordFailure(item, err)
	}
	u.flush()
	for _, i := range notEmpty {
		err := u.restoreItem(ctx, i, items[i])
		if errors.Is(err, unix.ENOTEMPTY) {
			var now State
			if now, err = l.drivers.currentState(ctx, items[i].Change); err == nil {
				err = u.recordKept(ctx, items[i], now)
			}
		}
		u.recordFailure(items[i], err)
	}
	return u.finish(nil)
}

// RevertAndWarn restores the selected objects, as Revert does, and warns of each object that it keeps. It returns the
// number of restored objects.
func (l *Ledger) RevertAndWarn(ctx context.Context, log report.Log, selected func(Item) bool) (int, error) {
	result, err := l.Revert(ctx, selected)
	for _, kept := range result.Kept {
		log.Warn(kept.KeptMessage(), "")
	}
	return len(result.Restored), err
}

// undoRun is the state of a running Undo.
type undoRun struct {
	l       *Ledger
	older   olderItems
	outcome Outcome
	errs    []error
	failed  []string      // targets that could not be restored
	batch   *restoreBatch // of paths; nil if nothing is staged
	staged  []Item        // restored by batch, but not durable yet

	unsynced []Item // restored, but not durable yet; no paths
}

// restoreItem restores one item; at is its index in the list of items.
func (u *undoRun) restoreItem(ctx context.Context, at int, item Item) error {
	driver, err := u.l.drivers.of(item.Kind)
	if err != nil {
		return err
	}
	if err := u.flushBefore(item); err != nil || u.isBlocked(item) {
		return err
	}
	now, err := driver.Get(ctx, item.Change)
	if err != nil {
		return err
	}
	action, err := u.decide(ctx, driver, at, item, now)
	switch {
	case err != nil:
		return err
	case action == keepAction:
		return u.recordKept(ctx, item, now)
	case action == noAction:
		return u.recordRestored(item)
	}
	before, err := u.l.withOriginal(item.Before)
	if err != nil {
		return err
	}
	if !item.Kind.isPath() {
		if err := driver.Restore(ctx, item.Change, before); err != nil {
			return u.restoreError(item, err)
		}
		return u.recordRestored(item)
	}
	if u.batch == nil {
		u.batch = u.l.drivers.Paths.newRestoreBatch()
	}
	if err := u.batch.restore(item.Change, before); err != nil {
		return u.restoreError(item, err)
	}
	u.staged = append(u.staged, item)
	return nil
}

// decide returns the action for an item. It also considers older items. While an object that
// an older item removed is still or again present, the agent's object cannot be at this
// path or below. An object that an older item created is not foreign.
func (u *undoRun) decide(ctx context.Context, driver SnapshotDriver, at int, item Item, now State) (undoAction, error) {
	shadowed, err := u.older.isShadowed(ctx, u.l.drivers, at, item, now)
	if err != nil || shadowed {
		return noAction, err
	}
	action := item.decide(now)
	if action != keepAction {
		return action, nil
	}
	if u.older.isOwnedByOlder(at, item, now) {
		return noAction, nil
	}
	if u.l.drivers.isMaintained(item, now) {
		return restoreAction, nil
	}
	if partial, ok := driver.(PartialRestorer); ok {
		if isPartial, err := partial.IsPartiallyRestored(item.Change, item.Before, now); err != nil || isPartial {
			return restoreAction, err
		}
	}
	return keepAction, nil
}

// restoreError wraps the error of an item that could not be restored. For EPERM it adds a
// remedy.
func (u *undoRun) restoreError(item Item, err error) error {
	err = fmt.Errorf("restoring %s %s: %w", item.Kind, item.Target, err)
	if !item.Kind.isPath() || !errors.Is(err, unix.EPERM) {
		return err
	}
	p := path.Join(u.l.drivers.Paths.Tree.Name(), item.Target)
	remedy := report.Remedyf("lsattr -d %s %s # i: immutable, a: append-only; chattr -i -a removes both",
		report.ShellWord(path.Dir(p)), report.ShellWord(p))
	return report.Fail(report.Failed, remedy, "%w", err)
}

// recordRestored records a restored item. The record is not synced, because restoring twice
// changes nothing. That of an object that is not a path waits until the object is durable.
func (u *undoRun) recordRestored(item Item) error {
	u.outcome.Restored = append(u.outcome.Restored, item)
	u.l.events.Changed(string(item.Kind), item.Target)
	if !item.Kind.isPath() {
		u.unsynced = append(u.unsynced, item)
		return nil
	}
	return u.recordUndone(item)
}

func (u *undoRun) recordUndone(item Item) error {
	return u.l.append(record{Type: undone, Key: item.Key()}, false)
}

// syncRestored makes the restored objects that are not paths durable, and then records them.
func (u *undoRun) syncRestored() {
	if len(u.unsynced) == 0 {
		return
	}
	err := u.l.drivers.syncResources()
	u.errs = append(u.errs, err)
	for _, item := range u.unsynced {
		if err == nil {
			u.errs = append(u.errs, u.recordUndone(item))
		}
	}
	u.unsynced = nil
}

func (u *undoRun) recordKept(ctx context.Context, item Item, now State) error {
	backup, err := u.l.backUpOriginal(ctx, item, now)
	if err != nil {
		return err
	}
	u.outcome.Kept = append(u.outcome.Kept, Difference{Item: item, Now: now, Backup: backup})
	return u.recordUndone(item)
}

// flush makes the current batch durable, and then records its items as restored.
func (u *undoRun) flush() {
	u.syncRestored()
	if u.batch == nil {
		return
	}
	failed, err := u.batch.finish()
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
		u.batch.files.Abort()
	}
	u.batch, u.staged = nil, nil
}

// finish finishes the undo and returns its outcome, with err joined to the other errors.
func (u *undoRun) finish(err error) (Outcome, error) {
	u.flush()
	if u.l.log != nil {
		syncErr := u.l.syncLog()
		u.l.needsSync = syncErr != nil
		u.errs = append(u.errs, syncErr)
	}
	return u.outcome, errors.Join(append(u.errs, err)...)
}
