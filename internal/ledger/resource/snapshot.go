// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"path"
	"slices"

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
	added, err := d.Added(c, before)
	if err != nil {
		return err
	}
	if !before.Present {
		added = append(added, path.Clean(c.Target))
	}
	for _, p := range added {
		if err := d.Tree.Remove(p); err != nil {
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
	known := map[string]bool{}
	for _, name := range before.Names {
		known[name] = true
	}
	var added []string
	err := d.Tree.Walk(c.Target, func(p string, _ hostfs.Info) error {
		if !known[p] {
			added = append(added, p)
		}
		return nil
	})
	slices.Reverse(added)
	return added, err
}
