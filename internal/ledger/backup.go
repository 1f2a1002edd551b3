// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// backupSuffix is appended to the name of a file to name its backup. No program reads files with
// this suffix from its drop-in directory.
const backupSuffix = ".before-hcp-node-agent"

// backUpOriginal writes the original file beside the file that an undo keeps, because the ledger
// holds the only copy and is deleted later. It returns the path of the copy, or "" if
// nothing would be lost.
func (l *Ledger) backUpOriginal(ctx context.Context, item Item, now State) (string, error) {
	if !item.Kind.isPath() || item.Before.Digest == "" || item.Before.Digest == now.Digest {
		return "", nil
	}
	before, err := l.withOriginal(item.Before)
	if err != nil {
		return "", err
	}
	return l.drivers.Paths.backUp(ctx, item.Target, before)
}

// backUpEdits writes a copy beside each managed file whose content another process or an
// administrator has written since, and which the changes replace or remove.
func (l *Ledger) backUpEdits(ctx context.Context, pending []PlannedChange) error {
	managed, byPath := map[string]bool{}, map[string][]Item{}
	for _, item := range l.Items() {
		managed[item.Key()] = true
		byPath[path.Clean(item.Target)] = append(byPath[path.Clean(item.Target)], item)
	}
	for _, p := range pending {
		isKnown := func(item Item) bool {
			return item.hasKnownContent(p.Now) || l.drivers.isMaintained(item, p.Now) || l.isLinked(ctx, item)
		}
		if !managed[p.Key()] || !p.losesContent() || slices.ContainsFunc(byPath[path.Clean(p.Target)], isKnown) {
			continue
		}
		backup, err := l.drivers.Paths.backUp(ctx, p.Target, p.Now)
		if err != nil {
			return err
		}
		l.events.Warn(p.Target+" was changed since the join and is replaced; the replaced content is in "+backup,
			report.Remedyf("diff %s %s", report.ShellWord(backup), report.ShellWord(p.Target)))
	}
	return nil
}

// losesContent reports whether the change replaces or removes the current content of a file.
func (p PlannedChange) losesContent() bool {
	onlyAttributes := p.Kind == File && p.Desired.Present && (p.Desired.Digest == "" || p.Desired.Digest == p.Now.Digest)
	return p.Kind.isPath() && p.Now.Size > 0 && !onlyAttributes && !p.NoBackup
}

// hasKnownContent reports whether the content is the original, or was written by this or an earlier run.
func (i Item) hasKnownContent(now State) bool {
	known := append(i.possibleResults(), i.Before)
	return slices.ContainsFunc(known, func(s State) bool { return s.Digest == now.Digest })
}

// isLinked reports whether a hard link still leads to its target, which remains or is backed up itself.
func (l *Ledger) isLinked(ctx context.Context, item Item) bool {
	if item.Kind != HardLink {
		return false
	}
	now, err := l.drivers.currentState(ctx, item.Change)
	return err == nil && item.Matches(now)
}

// backUp writes the file beside target and returns the path of the copy, or "" if the directory
// does not exist any more. It never overwrites a file. A copy with the same content is used again:
// an interrupted run wrote it.
func (d *Paths) backUp(ctx context.Context, target string, state State) (string, error) {
	for n := 1; ; n++ {
		file := Change{Kind: File, Target: target + backupSuffix}
		if n > 1 {
			file.Target += "." + strconv.Itoa(n)
		}
		found, err := d.Get(ctx, file)
		switch {
		case err != nil:
			return "", err
		case found.Digest == state.Digest:
			return file.Target, nil
		case found.Present:
			continue
		}
		err = d.Restore(ctx, file, state)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return file.Target, wrap.Errorf(err, "backing up %s", target)
	}
}
