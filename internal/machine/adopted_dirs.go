// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// RecordAdoptedDirs records the directories of RecordClusterDirs on a host that is a node. ClusterDirs count as empty
// before the join, so that leave removes their contents. What the other directories contain is kept, because its origin
// is not known.
func RecordAdoptedDirs(ctx context.Context, l *ledger.Ledger, tree *hostfs.Tree) error {
	snapshots, err := sharedSnapshots(tree)
	if err != nil {
		return err
	}
	for _, dir := range PluginDirs() {
		snapshots = append(snapshots, ledger.Change{
			Kind: ledger.SharedContents, Target: dir, Desired: ledger.State{Present: true},
			Reason: "pods and administrators install plugins in this directory",
		})
	}
	dirs, err := withLinks(tree, ClusterDirs())
	if err != nil {
		return err
	}
	var empty []ledger.PlannedChange
	for _, dir := range dirs {
		one, err := emptySnapshot(tree, dir)
		if err != nil {
			return err
		}
		if one.Kind == ledger.SharedContents { // a link to a directory that others may use too
			snapshots = append(snapshots, one.Change)
			continue
		}
		empty = append(empty, one)
	}
	if err := l.RecordSnapshots(steps.Files, empty); err != nil {
		return err
	}
	_, err = l.TrackExternal(ctx, steps.Files, snapshots...)
	return err
}

// emptySnapshot returns the snapshot of a directory, without its contents, or of a file, as if it did not exist.
func emptySnapshot(tree *hostfs.Tree, dir string) (ledger.PlannedChange, error) {
	kind, err := snapshotKind(tree, dir)
	if err != nil {
		return ledger.PlannedChange{}, err
	}
	snapshot := ledger.PlannedChange{Change: ledger.Change{
		Kind: kind, Target: dir, Reason: nodeReason, Desired: ledger.State{Present: true},
	}}
	info, err := tree.Lstat(dir)
	if err == nil && info.Type == hostfs.Directory {
		snapshot.Now = ledger.State{Present: true, Type: hostfs.Directory}
	}
	return snapshot, err
}
