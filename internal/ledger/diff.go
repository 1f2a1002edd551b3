// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// PlannedChange is a change that has not been made yet, and the current state of its object.
type PlannedChange struct {
	Change
	Now State `json:"now"`
}

// Diff returns the changes that are still to be made, including missing parent directories, in the
// order in which Apply makes them. It changes nothing. If an earlier change in the list
// removes the path or a parent of it, the current state of the path is empty. If an earlier change
// replaces the target of a hard link, the link must be made again.
func (l *Ledger) Diff(ctx context.Context, changes []Change) ([]PlannedChange, error) {
	changes, err := l.drivers.Paths.withParents(changes)
	if err != nil {
		return nil, err
	}
	unfinished, files := map[string]Item{}, map[string]Item{}
	for _, item := range l.Items() {
		switch {
		case !item.Done && !item.external:
			unfinished[item.Key()] = item
		case item.Done && item.Kind == File:
			files[item.Key()] = item
		}
	}
	var pending []PlannedChange
	removed, replaced := pathSet{}, pathSet{}
	for _, change := range changes {
		if item, found := unfinished[change.Key()]; found {
			change.Desired = withOriginalAttributes(change, item.Before)
		}
		var now State
		if !change.Kind.isPath() || !removed.covers(change.Target) {
			if now, err = l.drivers.currentState(ctx, change); err != nil {
				return nil, err
			}
		}
		relink := change.Kind == HardLink && change.Desired.Present && replaced[path.Clean(change.Desired.Link)]
		if (change.Matches(now) && !relink) || (change.Kind == Sysctl && l.isAccepted(change, now)) {
			continue
		}
		item, found := files[change.Key()]
		if found && item.Desired.Digest == change.Desired.Digest && l.drivers.isMaintained(item, now) {
			continue
		}
		p := PlannedChange{Change: change, Now: now}
		pending = append(pending, p)
		if change.Kind.isPath() && !change.Desired.Present {
			removed[path.Clean(change.Target)] = true
		}
		if p.replacesFile() || change.Kind == Symlink || change.Kind == HardLink {
			replaced[path.Clean(change.Target)] = true
		}
	}
	return pending, nil
}

// replacesFile reports whether the change writes a new file. Other changes of files keep the file and set its
// attributes, or remove it.
func (p PlannedChange) replacesFile() bool {
	return p.Kind == File && p.Desired.Present && (p.Desired.Digest != "" || p.Now.Type != hostfs.Regular)
}

// pathSet is a set of clean paths that the preceding changes of a list remove or replace.
type pathSet map[string]bool

// covers reports whether the path or a parent of it is in the set.
func (s pathSet) covers(p string) bool {
	for p = path.Clean(p); !s[p]; p = path.Dir(p) {
		if p == path.Dir(p) {
			return false
		}
	}
	return true
}

// withOriginalAttributes returns the desired state of a file or directory with unset attributes
// filled from the state before an interrupted run. A change of the owner clears setuid. If the run
// was killed before it set the mode again, the loss must not become permanent.
func withOriginalAttributes(c Change, before State) State {
	want := c.Desired
	ownAttributes := c.Kind == File || c.Kind == Directory // a hard link shares its file's
	if !ownAttributes || !want.Present || !before.Present || before.Type != c.Kind.FileType() {
		return want
	}
	want.Mode, want.UID, want.GID = cmp.Or(want.Mode, before.Mode), cmp.Or(want.UID, before.UID),
		cmp.Or(want.GID, before.GID)
	return want
}
