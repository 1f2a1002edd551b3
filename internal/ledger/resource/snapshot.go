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
// an undo removes names that were added later. It never crosses a mount point. A link to a
// directory counts as the directory: the snapshot and the undo work on its target, and the
// link remains.
type DirSnapshot struct{ Tree *hostfs.Tree }

// Get returns the names in the directory. Link is the real path of a directory that is a link.
func (d *DirSnapshot) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	info, err := d.Tree.Lstat(c.Target)
	if err != nil || info.Type == hostfs.Absent {
		return ledger.State{}, err
	}
	state := ledger.State{Present: true, Type: info.Type}
	if state.Link, err = LinkedDirectory(d.Tree, c.Target); err != nil {
		return ledger.State{}, err
	}
	if info.Type != hostfs.Directory && state.Link == "" {
		return state, nil // a single file: its content is not recorded
	}
	state.Type = hostfs.Directory
	err = d.Tree.Walk(c.Target, func(p string, _ hostfs.Info) error {
		state.Names = append(state.Names, p)
		return nil
	})
	return state, err
}

// LinkedDirectory returns the real path of the directory that the symbolic link p leads to, "" if p is no link to a
// directory.
func LinkedDirectory(tree *hostfs.Tree, p string) (string, error) {
	info, err := tree.Lstat(p)
	if err != nil || info.Type != hostfs.Symlink {
		return "", err
	}
	dir, err := tree.OpenDir(p)
	if hostfs.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	dir.Close()
	return tree.RealPath(p)
}

// Restore removes the names that were added, deepest first.
func (d *DirSnapshot) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	mounts, err := d.Tree.Mounts(c.Target)
	if err != nil {
		return err
	}
	real, err := d.Tree.RealPath(c.Target)
	if err != nil {
		return err
	}
	// The directory itself can be a mount point, as it was before.
	mounts = slices.DeleteFunc(mounts, func(point string) bool { return point == real })
	if len(mounts) > 0 {
		return fmt.Errorf("a file system is mounted at %s, so nothing below %s was removed; "+
			"unmount it (umount %s) and rerun leave", mounts[0], c.Target, mounts[0])
	}
	return d.removeAdded(c, before, d.Tree.Remove)
}

// checkLink returns an error if the directory has become a link, or the link leads to another directory, since the
// state before: which files in it belong to the cluster is not known then.
func (d *DirSnapshot) checkLink(c ledger.Change, before ledger.State) error {
	now, err := LinkedDirectory(d.Tree, c.Target)
	if err != nil || now == "" || now == before.Link {
		return err
	}
	link := path.Join(d.Tree.Name(), c.Target)
	return fmt.Errorf("%s is a link to %s, which it was not before the join, so nothing in %s was removed; remove the "+
		"node's files from it, move the link (mv -T %s %s.link), and rerun leave", link, now, now, link, link)
}

// removeAdded calls remove for the names that were added, deepest first, and for the directory itself if it did
// not exist before, and makes the removals durable.
func (d *DirSnapshot) removeAdded(c ledger.Change, before ledger.State, remove func(p string) error) error {
	if err := d.checkLink(c, before); err != nil {
		return err
	}
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
		opened, err := d.Tree.OpenDir(dir)
		if err == nil {
			opened.Close()
			break
		}
		if !hostfs.IsNotExist(err) {
			return err
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
