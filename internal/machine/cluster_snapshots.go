// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// maxPluginSize is the maximum size in bytes of a plugin file that is backed up
// before the join. A plugin has about 5 MiB, a large directory of plugins 100 MiB.
const maxPluginSize = 32 << 20

// pluginSnapshots returns the changes that record the plugin directories before
// pods write to them: the names they contain, and each file that pods can replace.
func pluginSnapshots(tree *hostfs.Tree) ([]ledger.Change, error) {
	var files, dirs []ledger.Change
	plugins, err := withLinks(tree, PluginDirs())
	if err != nil {
		return nil, err
	}
	for _, dir := range plugins {
		why := "pods install plugins in this directory"
		kind, err := snapshotKind(tree, dir)
		if err != nil {
			return nil, err
		}
		err = tree.Walk(dir, func(p string, info hostfs.Info) error {
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

// withLinks returns dirs, and the symbolic links to directories that they contain before the join, such as
// /var/lib/kubelet/pods on a larger disk. Links in deeper directories may be those of pods of a former cluster.
func withLinks(tree *hostfs.Tree, dirs []string) ([]string, error) {
	all := slices.Clone(dirs)
	for _, dir := range dirs {
		names, err := tree.ReadDir(dir)
		if err != nil && !hostfs.IsNotExist(err) {
			return nil, err
		}
		for _, name := range names {
			link := path.Join(dir, name)
			real, err := resource.LinkedDirectory(tree, link)
			if err != nil {
				return nil, err
			}
			if real != "" {
				all = append(all, link)
			}
		}
	}
	return all, nil
}

// snapshotKind returns the kind of the snapshot of a directory to which the cluster's components write. It is shared if
// dir is a symbolic link to a directory that others may use too: one that contains something, or the root of a file
// system.
func snapshotKind(tree *hostfs.Tree, dir string) (ledger.Kind, error) {
	real, err := resource.LinkedDirectory(tree, dir)
	if err != nil || real == "" {
		return ledger.Contents, err
	}
	names, err := tree.ReadDir(dir)
	if err != nil {
		return "", err
	}
	mounts, err := tree.Mounts(dir)
	if len(names) > 0 || slices.Contains(mounts, real) {
		return ledger.SharedContents, err
	}
	return ledger.Contents, err
}

// RecordClusterDirs records, once, the contents of all directories to which the cluster's
// components write, before they do. The plan can name more snapshots.
func RecordClusterDirs(ctx context.Context, l *ledger.Ledger, tree *hostfs.Tree, more []ledger.Change) error {
	if slices.ContainsFunc(l.Items(), func(item ledger.Item) bool { return item.Kind == ledger.Interfaces }) {
		return nil
	}
	snapshots, err := sharedSnapshots(tree)
	if err != nil {
		return err
	}
	dirs, err := withLinks(tree, ClusterDirs())
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		kind, err := snapshotKind(tree, dir)
		if err != nil {
			return err
		}
		snapshots = append(snapshots, ledger.Change{
			Kind: kind, Target: dir, Reason: nodeReason, Desired: ledger.State{Present: true},
		})
	}
	plugins, err := pluginSnapshots(tree)
	if err != nil {
		return err
	}
	_, err = l.TrackExternal(ctx, steps.Files, slices.Concat(plugins, snapshots, more)...)
	return err
}

// nodeReason is the reason of the snapshots of ClusterDirs.
const nodeReason = "kubelet, CRI-O and pods write to this directory"

// sharedSnapshots returns the changes that record the interfaces, the image storage and SharedDirs.
func sharedSnapshots(tree *hostfs.Tree) ([]ledger.Change, error) {
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
	shared, err := withLinks(tree, SharedDirs())
	for _, dir := range shared {
		snapshots = append(snapshots, ledger.Change{
			Kind: ledger.SharedContents, Target: dir, Reason: "CRI-O, pods and administrators write to this directory",
			Desired: exists,
		})
	}
	return snapshots, err
}
