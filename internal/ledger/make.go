package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Set applies the desired state to one path.
func (d *Paths) Set(ctx context.Context, c Change, now State) error {
	return d.SetAll(ctx, []PlannedChange{{Change: c, Now: now}})
}

// SetAll removes paths and creates directories and links in the given order. Then it
// renames all files into place, and then creates hard links. All paths are labeled and
// durable when it returns, with two syncs per file system for any number of paths.
func (d *Paths) SetAll(ctx context.Context, pending []PlannedChange) error {
	policy, err := d.policyLabels(ctx, pending)
	if err != nil {
		return err
	}
	batch := d.Tree.NewBatch()
	defer batch.Abort()
	written := make([]string, 0, len(pending))
	for _, p := range pending {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("writing %s: %w", p.Target, err)
		}
		if err := batch.Touch(p.Target); err != nil {
			return err
		}
		if err := d.setOne(batch, p, labelOf(p, policy)); err != nil {
			return err
		}
		if p.Desired.Present {
			written = append(written, p.Target)
		}
	}
	if err := batch.Rename(); err != nil {
		return err
	}
	for _, p := range pending {
		if p.Kind == HardLink && p.Desired.Present {
			if err := d.Tree.HardLink(p.Desired.Link, p.Target); err != nil {
				return err
			}
		}
	}
	if d.SELinux != nil && len(written) > 0 {
		if err := d.SELinux.Relabel(ctx, written); err != nil {
			return err
		}
	}
	return batch.Sync()
}

// setOne changes one path, or stages it. Hard links are created later, after their
// targets.
func (d *Paths) setOne(batch *hostfs.Batch, p PlannedChange, label []byte) error {
	attr := attrOf(p.Kind, p.Desired, p.Now)
	attr.Label, attr.Xattrs = label, p.Desired.Xattrs
	switch {
	case !p.Desired.Present:
		return d.Tree.Remove(p.Target)
	case p.Kind == Directory:
		return d.Tree.Mkdir(p.Target, attr)
	case p.Kind == Symlink:
		return d.Tree.Symlink(p.Desired.Link, p.Target, attr)
	case p.Kind == HardLink:
		return nil
	case p.Desired.Digest == "" && p.Now.Type == string(hostfs.Regular):
		return d.Tree.SetAttr(p.Target, attr)
	}
	return batch.Stage(p.Target, p.Desired.Content, attr)
}

// CleanUp removes temporary files of interrupted runs beside the paths, and syncs the file
// systems of the paths.
func (d *Paths) CleanUp(_ context.Context, changes []Change) error {
	batch := d.Tree.NewBatch()
	defer batch.Abort()
	for _, c := range changes {
		if !c.isPath() {
			continue
		}
		err := d.Tree.RemoveTemporary(c.Target)
		if err == nil {
			err = batch.Touch(c.Target)
		}
		// Setting or restoring the path reports the unsafe link; other paths must not fail
		// for it.
		if unsafe := new(hostfs.UnsafeLinkError); err != nil && !errors.As(err, &unsafe) {
			return err
		}
	}
	return batch.Sync()
}
