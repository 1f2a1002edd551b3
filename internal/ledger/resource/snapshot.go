// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// DirSnapshot is a snapshot of directories (and single files) whose contents other
// components write, such as kubelet in /var/lib/kubelet. It records the existing names, and
// an undo removes names that were added later. It never crosses a mount point.
type DirSnapshot struct{ Tree *hostfs.Tree }

// Get returns the names in the directory.
func (d *DirSnapshot) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	info, err := d.Tree.Lstat(c.Target)
	if err != nil || info.Type == hostfs.Absent {
		return ledger.State{}, err
	}
	state := ledger.State{Present: true, Type: info.Type}
	if info.Type != hostfs.Directory {
		return state, nil // a single file: its content is not recorded
	}
	err = d.Tree.Walk(c.Target, func(p string, _ hostfs.Info) error {
		state.Names = append(state.Names, p)
		return nil
	})
	return state, err
}

// Restore removes the names that were added, deepest first.
func (d *DirSnapshot) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	mounts, err := d.Tree.Mounts(c.Target)
	if err != nil {
		return err
	}
	// The directory itself can be a mount point, as it was before.
	mounts = slices.DeleteFunc(mounts, func(point string) bool { return point == path.Join(d.Tree.Name(), c.Target) })
	if len(mounts) > 0 {
		return fmt.Errorf("a file system is mounted at %s, so nothing below %s was removed; "+
			"unmount it (umount %s) and rerun leave", mounts[0], c.Target, mounts[0])
	}
	return d.removeAdded(c, before, d.Tree.Remove)
}

// removeAdded calls remove for the names that were added, deepest first, and for the directory itself if it did
// not exist before, and makes the removals durable.
func (d *DirSnapshot) removeAdded(c ledger.Change, before ledger.State, remove func(p string) error) error {
	added, err := d.Added(c, before)
	if err != nil {
		return err
	}
	if !before.Present {
		added = append(added, path.Clean(c.Target))
	}
	for _, p := range added {
		if err := remove(p); err != nil {
			return err
		}
	}
	return d.sync(c)
}

// sync makes removals from the directory durable. Otherwise a power failure could keep the
// record of the removal and bring the files back, which can be credentials.
func (d *DirSnapshot) sync(c ledger.Change) error {
	dir := path.Clean(c.Target)
	for ; dir != "/"; dir = path.Dir(dir) {
		info, err := d.Tree.Lstat(dir)
		if err != nil {
			return err
		}
		if info.Type == hostfs.Directory {
			break
		}
	}
	return d.Tree.SyncFileSystem(dir)
}

// Added returns the paths that were added to the directory since the state before, deepest first.
func (d *DirSnapshot) Added(c ledger.Change, before ledger.State) ([]string, error) {
	known := sets.New(before.Names...)
	var added []string
	err := d.Tree.Walk(c.Target, func(p string, _ hostfs.Info) error {
		if !known.Has(p) {
			added = append(added, p)
		}
		return nil
	})
	slices.Reverse(added)
	return added, err
}
