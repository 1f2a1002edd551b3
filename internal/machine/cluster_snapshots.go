// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// maxPluginSize is the maximum size in bytes of a plugin file that is backed up
// before the join. A plugin has about 5 MiB, a large directory of plugins 100 MiB.
const maxPluginSize = 32 << 20

// pluginSnapshots returns the changes that record the plugin directories before
// pods write to them: the names they contain, and each file that pods can replace.
func pluginSnapshots(tree *hostfs.Tree) ([]ledger.Change, error) {
	var files, dirs []ledger.Change
	for _, dir := range PluginDirs() {
		kind, why := ledger.Contents, "pods install plugins in this directory"
		err := tree.Walk(dir, func(p string, info hostfs.Info) error {
			if info.Type == hostfs.Directory {
				return nil
			}
			kind, why = ledger.SharedContents, "pods and administrators install plugins in this directory"
			if info.Type == hostfs.Regular && info.Size <= maxPluginSize || info.Type == hostfs.Symlink {
				files = append(files, ledger.Change{
					Kind: ledger.File, Target: p, Reason: "pods can replace the file", Desired: ledger.State{Present: true},
				})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, ledger.Change{Kind: kind, Target: dir, Reason: why, Desired: ledger.State{Present: true}})
	}
	return slices.Concat(files, dirs), nil
}

// RecordClusterDirs records, once, the contents of all directories to which the cluster's
// components write, before they do. The plan can name more snapshots.
func RecordClusterDirs(ctx context.Context, l *ledger.Ledger, tree *hostfs.Tree, more []ledger.Change) error {
	if slices.ContainsFunc(l.Items(), func(item ledger.Item) bool { return item.Kind == ledger.Interfaces }) {
		return nil
	}
	exists := ledger.State{Present: true}
	snapshots := []ledger.Change{
		{Kind: ledger.Interfaces, Target: "all", Reason: "CNI plugins add interfaces", Desired: exists},
		{
			Kind:    crio.StorageKind,
			Target:  crio.StorageDir,
			Reason:  "CRI-O stores its images in this directory",
			Desired: exists,
		},
	}
	for _, dir := range SharedDirs() {
		snapshots = append(snapshots, ledger.Change{
			Kind: ledger.SharedContents, Target: dir, Reason: "CRI-O, pods and administrators write to this directory",
			Desired: exists,
		})
	}
	for _, dir := range ClusterDirs() {
		snapshots = append(snapshots, ledger.Change{
			Kind: ledger.Contents, Target: dir, Reason: "kubelet, CRI-O and pods write to this directory", Desired: exists,
		})
	}
	plugins, err := pluginSnapshots(tree)
	if err != nil {
		return err
	}
	_, err = l.TrackExternal(ctx, steps.Files, slices.Concat(plugins, snapshots, more)...)
	return err
}
