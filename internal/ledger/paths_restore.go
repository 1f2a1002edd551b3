// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Restore restores the path durably.
func (d *Paths) Restore(_ context.Context, c Change, before State) error {
	batch := d.newRestoreBatch()
	defer batch.files.Abort()
	if err := batch.restore(c, before); err != nil {
		return err
	}
	failed, err := batch.finish()
	return errors.Join(failed[c.Target], err)
}

// restoreBatch restores many paths with few syncs. They are restored and durable after finish, which
// renames staged files into place. All other changes are made immediately. Until finish, the paths
// can be restored again.
type restoreBatch struct {
	tree  *hostfs.Tree
	files *hostfs.Batch
}

func (d *Paths) newRestoreBatch() *restoreBatch {
	return &restoreBatch{tree: d.Tree, files: d.Tree.NewBatch()}
}

// restore restores the path, or stages the file that finish renames to the path.
func (r *restoreBatch) restore(c Change, before State) error {
	now, err := r.tree.Lstat(c.Target)
	if err != nil {
		return err
	}
	if err := r.files.Touch(c.Target); err != nil {
		return err
	}
	if !before.Present {
		if now.Type == hostfs.Absent || (now.Type == hostfs.Directory) != (c.Kind == Directory) {
			return nil // the agent's object is gone; this one is newer
		}
		return r.tree.Remove(c.Target)
	}
	if now.Type != hostfs.Absent && (now.Type == hostfs.Directory) != (before.Type == hostfs.Directory) {
		if err := r.tree.Remove(c.Target); err != nil {
			return err
		}
	}
	attr := attrOf(c.Kind, before, State{})
	attr.Xattrs = before.Xattrs
	switch before.Type {
	case hostfs.Directory:
		return r.tree.Mkdir(c.Target, attr)
	case hostfs.Symlink:
		return r.tree.Symlink(before.Link, c.Target, attr)
	case hostfs.Regular:
		return r.restoreFile(c, before, now, attr)
	}
	return fmt.Errorf("the original was a %s, which cannot be restored", before.Type)
}

// restoreFile restores a file. If the content is still the original, it changes only the
// attributes, so that the inode and its other hard links remain. Attributes can be set on an
// existing file, but not removed.
func (r *restoreBatch) restoreFile(c Change, before State, now hostfs.Info, attr hostfs.Attr) error {
	keepsInode := now.Type == hostfs.Regular && c.Kind == File
	for name := range now.Xattrs {
		_, known := before.Xattrs[name]
		keepsInode = keepsInode && known
	}
	if keepsInode {
		content, _, err := r.tree.ReadFile(c.Target)
		if err != nil {
			return err
		}
		if digest(content) == before.Digest {
			return r.tree.SetAttr(c.Target, attr)
		}
	}
	return r.files.Stage(c.Target, before.Content, attr)
}

// finish renames the staged files into place and makes all changes durable. It returns an
// error for each path that could not be renamed. If err is not nil, no path counts as restored.
func (r *restoreBatch) finish() (failed map[string]error, err error) {
	if failed, err = r.files.RenameEach(); err != nil {
		return nil, err
	}
	return failed, r.files.Sync()
}
