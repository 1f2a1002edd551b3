// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Paths is the driver of files, directories and links below a root. The ledger applies and restores
// many paths at once, with a constant number of syncs.
type Paths struct {
	Tree *hostfs.Tree
	// SELinux labels new files. If nil, the kernel labels them.
	SELinux Labeler
}

// Get returns the state of the object at the change's path.
func (d *Paths) Get(_ context.Context, c Change) (State, error) {
	info, err := d.Tree.Lstat(c.Target)
	if err != nil || info.Type == hostfs.Absent {
		return State{}, unsafeLinkError(err)
	}
	var content []byte
	if info.Type == hostfs.Regular {
		if content, info, err = d.Tree.ReadFile(c.Target); err != nil {
			return State{}, err
		}
	}
	state := State{
		Present: true, Type: info.Type, Mode: &info.Mode, UID: &info.UID, GID: &info.GID,
		Link: info.Link, Xattrs: info.Xattrs,
	}
	switch info.Type {
	case hostfs.Regular:
		state = state.WithContent(content)
	case hostfs.Symlink:
		state.Mode = nil // the mode of a symbolic link has no meaning
	}
	if c.Kind == HardLink {
		target, err := d.Tree.Lstat(c.Desired.Link)
		if err != nil {
			return State{}, err
		}
		if target.Type != hostfs.Absent && target.Inode == info.Inode && target.Device == info.Device {
			state.Link, state.Value = c.Desired.Link, c.Desired.Value
		}
	}
	return state, nil
}

// attrOf returns the desired attributes. Unset attributes come from the existing file, else
// the file is owned by root with mode 0644 (0755 for a directory), as in Ignition.
func attrOf(kind Kind, want, now State) hostfs.Attr {
	mode, root := uint32(0o644), 0
	if kind == Directory {
		mode = 0o755
	}
	return hostfs.Attr{
		Mode: *cmp.Or(want.Mode, now.Mode, &mode), UID: *cmp.Or(want.UID, now.UID, &root),
		GID: *cmp.Or(want.GID, now.GID, &root),
	}
}

// CleanUp removes temporary files of interrupted runs beside the paths, and syncs the file
// systems of the paths.
func (d *Paths) CleanUp(_ context.Context, changes []Change) error {
	batch := d.Tree.NewBatch()
	defer batch.Abort()
	for _, c := range changes {
		if !c.Kind.isPath() {
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

// unsafeLinkError adds a remedy to an error about a symbolic link that is not followed.
func unsafeLinkError(err error) error {
	var unsafe *hostfs.UnsafeLinkError
	if !errors.As(err, &unsafe) {
		return err
	}
	remedy := report.Remedy("namei -l " + report.ShellWord(unsafe.Path) +
		" # shows the owner of each part; replace the link with a directory, then rerun the command")
	return report.Fail(report.Failed, remedy, "%w", err)
}
