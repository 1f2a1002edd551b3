// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// isMaintained reports whether a component of the cluster has rewritten a file since the agent wrote it. Such a file is
// no drift and is not written again until the agent is to write other content. An undo restores the file.
func (d Drivers) isMaintained(item Item, now State) bool {
	if d.IsMaintained == nil || item.Kind != File || !item.Done || !item.Desired.Present {
		return false
	}
	if !now.Present {
		return d.IsMaintained(item.Target, nil)
	}
	return now.Type == hostfs.Regular && now.Digest != item.Desired.Digest && item.isAsPrivate(now) &&
		d.IsMaintained(item.Target, now.Content)
}

// isAsPrivate reports whether the file has the owner of the desired state, and permits no more.
func (i Item) isAsPrivate(now State) bool {
	want := i.Desired
	return nilOrEqual(want.UID, now.UID) && nilOrEqual(want.GID, now.GID) &&
		(want.Mode == nil || (now.Mode != nil && *now.Mode&^*want.Mode == 0))
}

// Maintained returns the files that components of the cluster have rewritten since the agent wrote them.
func (l *Ledger) Maintained(ctx context.Context) ([]string, error) {
	var targets []string
	for _, item := range l.Items() {
		if item.Kind != File {
			continue
		}
		now, err := l.drivers.currentState(ctx, item.Change)
		if err != nil {
			return nil, err
		}
		if l.drivers.isMaintained(item, now) {
			targets = append(targets, item.Target)
		}
	}
	return targets, nil
}

// Rewrite writes new content of a file of the payload, as a component of the cluster does: see isMaintained. It
// records the content of the payload as the desired state, so that the new content is no drift and is kept until the
// agent is to write other content than the payload's. The file keeps its owner and mode, and no copy of the replaced
// content remains. Rewrite fails if the file does not exist, or if no component of the cluster can have written the
// content.
func (l *Ledger) Rewrite(ctx context.Context, step, target string, payload, content []byte) error {
	change, isRecorded := Change{Kind: File, Target: target}, false
	now, err := l.drivers.currentState(ctx, change)
	if err != nil {
		return err
	}
	if now.Type != hostfs.Regular || l.drivers.IsMaintained == nil || !l.drivers.IsMaintained(target, content) {
		return fmt.Errorf("rewriting %s: the file does not exist, or its new content is not valid", target)
	}
	attributes := now
	for _, item := range l.Items() {
		if item.Key() == change.Key() && item.Desired.Present {
			change.Reason, attributes = item.Reason, item.Desired
			isRecorded = item.Done && item.Desired.Digest == digest(payload)
		}
	}
	change.Desired = State{Present: true, Mode: attributes.Mode, UID: attributes.UID, GID: attributes.GID}.
		WithContent(payload)
	var recorded int
	if !isRecorded {
		recorded, err = l.recordIntent(record{Step: step}, []PlannedChange{{Change: change, Now: now}})
		if err != nil {
			return err
		}
	}
	change.Desired = change.Desired.WithContent(content)
	if err := l.drivers.Paths.Set(ctx, change, now); err != nil {
		return err
	}
	l.events.Changed(string(File), target)
	if isRecorded {
		return nil
	}
	return l.append(record{Type: done, Intent: recorded}, true)
}
