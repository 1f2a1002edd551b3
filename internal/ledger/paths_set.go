// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Set applies the desired state to one path.
func (d *Paths) Set(ctx context.Context, c Change, now State) error {
	return d.setAll(ctx, []PlannedChange{{Change: c, Now: now}})
}

// setAll removes paths and creates directories and symbolic links in the given order. Then it
// renames all files into place, and then creates hard links. All paths are labeled and
// durable when it returns, with two syncs per file system for any number of paths.
func (d *Paths) setAll(ctx context.Context, pending []PlannedChange) error {
	labels, err := d.policyLabels(ctx, pending)
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
		if err := d.setOne(batch, p, labels[p.Target]); err != nil {
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

// policyLabels requests the labels of all paths in one call. Each file is labeled before it is
// renamed into place: a program that starts between the rename and a later relabel would
// find a file that it may not read.
func (d *Paths) policyLabels(ctx context.Context, pending []PlannedChange) (map[string][]byte, error) {
	types := map[string]hostfs.FileType{}
	for _, p := range pending {
		if p.Desired.Present && p.Kind != HardLink {
			types[p.Target] = p.Kind.FileType()
		}
	}
	if d.SELinux == nil || len(types) == 0 {
		return nil, nil
	}
	return d.SELinux.Labels(ctx, types)
}

// setOne changes one path, or stages it, so that a sync of the batch includes it. Hard links are created
// later, after their targets. Without a label from the policy, the path gets that of the file it replaces.
func (d *Paths) setOne(batch *hostfs.Batch, p PlannedChange, label []byte) error {
	attr := attrOf(p.Kind, p.Desired, p.Now)
	attr.Label, attr.Xattrs = label, p.Desired.Xattrs
	if len(label) == 0 {
		attr.Label = p.Now.Xattrs[hostfs.SELinuxXattr]
	}
	if p.replacesFile() {
		return batch.Stage(p.Target, p.Desired.Content, attr)
	}
	if err := batch.Touch(p.Target); err != nil {
		return err
	}
	switch {
	case !p.Desired.Present:
		return d.Tree.Remove(p.Target)
	case p.Kind == Directory:
		return d.Tree.Mkdir(p.Target, attr)
	case p.Kind == Symlink:
		return d.Tree.Symlink(p.Desired.Link, p.Target, attr)
	case p.Kind == HardLink:
		return nil
	}
	return d.Tree.SetAttr(p.Target, attr)
}
