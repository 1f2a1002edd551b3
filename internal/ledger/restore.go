package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Restore restores the path durably.
func (d *Paths) Restore(ctx context.Context, c Change, before State) error {
	back := d.BeginRestore()
	defer back.Abort()
	if err := back.Restore(ctx, c, before); err != nil {
		return err
	}
	failed, err := back.Finish()
	return errors.Join(failed[c.Target], err)
}

// BeginRestore starts a batch that restores many paths with few syncs.
func (d *Paths) BeginRestore() RestoreBatch {
	return &pathRestoreBatch{tree: d.Tree, batch: d.Tree.NewBatch()}
}

// pathRestoreBatch is a batch of restored paths. Finish renames staged files into place. All other
// changes are made immediately.
type pathRestoreBatch struct {
	tree  *hostfs.Tree
	batch *hostfs.Batch
}

// IsPending reports whether Finish will replace the path.
func (r *pathRestoreBatch) IsPending(c Change) (bool, error) {
	if !c.isPath() {
		return false, nil
	}
	return r.batch.IsStaged(c.Target)
}

// Restore restores the path, or stages the file that Finish renames to the path.
func (r *pathRestoreBatch) Restore(_ context.Context, c Change, before State) error {
	now, err := r.tree.Lstat(c.Target)
	if err != nil {
		return err
	}
	if err := r.batch.Touch(c.Target); err != nil {
		return err
	}
	if !before.Present {
		if now.Type == hostfs.Absent || (now.Type == hostfs.Directory) != (c.Kind == Directory) {
			return nil // the agent's object is gone; this one is newer
		}
		return r.tree.Remove(c.Target)
	}
	was := hostfs.FileType(before.Type)
	if now.Type != hostfs.Absent && (now.Type == hostfs.Directory) != (was == hostfs.Directory) {
		if err := r.tree.Remove(c.Target); err != nil {
			return err
		}
	}
	attr := attrOf(c.Kind, before, State{})
	attr.Xattrs = before.Xattrs
	switch was {
	case hostfs.Directory:
		return r.tree.Mkdir(c.Target, attr)
	case hostfs.Symlink:
		return r.tree.Symlink(before.Link, c.Target, attr)
	case hostfs.Regular:
		return r.restoreFile(c, before, now, attr)
	}
	return fmt.Errorf("what was there was a %s, which cannot be put back", before.Type)
}

// restoreFile restores a file. If the content is still the original, it changes only the
// attributes, so that the inode and its other hard links remain.
func (r *pathRestoreBatch) restoreFile(c Change, before State, now hostfs.Info, attr hostfs.Attr) error {
	if now.Type == hostfs.Regular && c.Kind == File && isSubset(now.Xattrs, before.Xattrs) {
		content, _, err := r.tree.ReadFile(c.Target)
		if err != nil {
			return err
		}
		if digest(content) == before.Digest {
			return r.tree.SetAttr(c.Target, attr)
		}
	}
	return r.batch.Stage(c.Target, before.Content, attr)
}

// isSubset reports whether before contains all names of now. Attributes can be set on an
// existing file, but not removed.
func isSubset(now, before map[string][]byte) bool {
	for name := range now {
		if _, there := before[name]; !there {
			return false
		}
	}
	return true
}

// Finish renames the staged files into place and makes all changes durable. It returns an
// error for each path that could not be renamed.
func (r *pathRestoreBatch) Finish() (map[string]error, error) {
	failed, err := r.batch.RenameEach()
	if err != nil {
		return nil, err
	}
	return failed, r.batch.Sync()
}

// Abort discards staged files.
func (r *pathRestoreBatch) Abort() { r.batch.Abort() }
