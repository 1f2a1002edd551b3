// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

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
