package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Restore puts back what was at the path, durable.
func (d *Paths) Restore(ctx context.Context, c Change, before State) error {
	back := d.Begin()
	defer back.Abort()
	if err := back.Restore(ctx, c, before); err != nil {
		return err
	}
	failed, err := back.Finish()
	return errors.Join(failed[c.Target], err)
}

// Begin starts to put many paths back with few barriers.
func (d *Paths) Begin() Restoring { return &restoring{tree: d.Tree, batch: d.Tree.NewBatch()} }

// restoring puts paths back: files are staged, and have their names after
// Finish; all else is made at once.
type restoring struct {
	tree  *host.Tree
	batch *host.Batch
}

// Busy tells whether the path is about to be replaced by Finish.
func (r *restoring) Busy(c Change) (bool, error) {
	if !c.onPath() {
		return false, nil
	}
	return r.batch.Holds(c.Target)
}

// Restore puts back what was at the path.
func (r *restoring) Restore(_ context.Context, c Change, before State) error {
	now, err := r.tree.Lstat(c.Target)
	if err != nil {
		return err
	}
	if err := r.batch.Touch(c.Target); err != nil {
		return err
	}
	if !before.Present {
		if now.Type == host.Absent || (now.Type == host.Directory) != (c.Kind == Directory) {
			return nil // ours is gone; what is there came later
		}
		return r.tree.Remove(c.Target)
	}
	was := host.FileType(before.Type)
	if now.Type != host.Absent && (now.Type == host.Directory) != (was == host.Directory) {
		if err := r.tree.Remove(c.Target); err != nil {
			return err
		}
	}
	attr := attrOf(c.Kind, before, State{})
	attr.Xattrs = before.Xattrs
	switch was {
	case host.Directory:
		return r.tree.Mkdir(c.Target, attr)
	case host.Symlink:
		return r.tree.Symlink(before.Link, c.Target, attr)
	case host.Regular:
		return r.file(c, before, now, attr)
	}
	return fmt.Errorf("what was there was a %s, which cannot be put back", before.Type)
}

// file puts a file back. One that has its old content still, and may have other
// names, stays that file.
func (r *restoring) file(c Change, before State, now host.Info, attr host.Attr) error {
	if now.Type == host.Regular && c.Kind == File && within(now.Xattrs, before.Xattrs) {
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

// within tells whether all names of now are names of before: attributes can be
// set on a file that is there, but none is taken away.
func within(now, before map[string][]byte) bool {
	for name := range now {
		if _, there := before[name]; !there {
			return false
		}
	}
	return true
}

// Finish gives the staged files their names and makes everything durable.
func (r *restoring) Finish() (map[string]error, error) {
	failed, err := r.batch.RenameEach()
	if err != nil {
		return nil, err
	}
	return failed, r.batch.Sync()
}

// Abort drops what was staged and not finished.
func (r *restoring) Abort() { r.batch.Abort() }
