package ledger

import (
	"context"
	"fmt"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Paths is the driver of files, directories and links below a root.
type Paths struct {
	Tree *host.Tree
	// Relabel sets the SELinux labels of paths as the policy has them; nil
	// where there is no SELinux.
	Relabel func(ctx context.Context, paths []string) error
}

// Look tells what is at the change's path.
func (d *Paths) Look(_ context.Context, c Change) (State, error) {
	info, err := d.Tree.Lstat(c.Target)
	if err != nil || info.Type == host.Absent {
		return State{}, err
	}
	state := State{
		Present: true, Type: string(info.Type), Mode: &info.Mode, UID: &info.UID, GID: &info.GID,
		Link: info.Link, Xattrs: info.Xattrs,
	}
	if info.Type == host.Regular {
		content, _, err := d.Tree.ReadFile(c.Target)
		if err != nil {
			return State{}, err
		}
		state.Content, state.Digest, state.Size = content, digest(content), int64(len(content))
	}
	if info.Type == host.Symlink {
		state.Mode = nil // the mode of a link means nothing
	}
	if c.Kind == HardLink {
		target, err := d.Tree.Lstat(c.Want.Link)
		if err != nil {
			return State{}, err
		}
		if target.Type != host.Absent && target.Inode == info.Inode && target.Device == info.Device {
			state.Link = c.Want.Link
		}
	}
	return state, nil
}

// Complete puts the missing parents of the wished paths before them.
func (d *Paths) Complete(changes []Change) ([]Change, error) {
	named := map[string]bool{}
	for _, c := range changes {
		if c.Kind == Directory {
			named[path.Clean(c.Target)] = true
		}
	}
	var complete []Change
	for _, c := range changes {
		if fileType(c.Kind) != "" && c.Want.Present {
			missing, err := d.Tree.MissingDirs(path.Dir(c.Target))
			if err != nil {
				return nil, err
			}
			for _, dir := range missing {
				if !named[dir] {
					named[dir] = true
					complete = append(complete, Change{Kind: Directory, Target: dir, Why: "parent of " + c.Target, Want: DirectoryState(0o755)})
				}
			}
		}
		complete = append(complete, c)
	}
	return complete, nil
}

// fileType is the type of file that a path kind makes, "" for other kinds.
func fileType(kind Kind) string {
	switch kind {
	case File, HardLink:
		return string(host.Regular)
	case Directory:
		return string(host.Directory)
	case Link:
		return string(host.Symlink)
	}
	return ""
}

// DirectoryState is a directory that shall have this mode, owned by root.
func DirectoryState(mode uint32) State {
	owner := 0
	return State{Present: true, Mode: &mode, UID: &owner, GID: &owner}
}

// Make makes one path as wished.
func (d *Paths) Make(ctx context.Context, c Change, now State) error {
	return d.MakeAll(ctx, []Pending{{Change: c, Now: now}})
}

// MakeAll makes directories and links in the given order, then all files with
// two barriers, then hard links, and labels what it made.
func (d *Paths) MakeAll(ctx context.Context, pending []Pending) error {
	batch := d.Tree.NewBatch()
	defer batch.Abort()
	written := make([]string, 0, len(pending))
	var hard []Change
	for _, p := range pending {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("writing %s: %w", p.Target, err)
		}
		attr := attrOf(p.Kind, p.Want, p.Now)
		var err error
		switch {
		case !p.Want.Present:
			err = d.Tree.Remove(p.Target)
		case p.Now.Type == string(host.Directory) && p.Kind != Directory:
			err = fmt.Errorf("writing %s: a directory is in the way; move it away", p.Target)
		case p.Kind == Directory && p.Now.Present && p.Now.Type != string(host.Directory):
			err = fmt.Errorf("creating directory %s: a %s is in the way; move it away", p.Target, p.Now.Type)
		case p.Kind == Directory:
			err = d.Tree.Mkdir(p.Target, attr)
		case p.Kind == Link:
			err = d.Tree.Symlink(p.Want.Link, p.Target, attr)
		case p.Kind == HardLink:
			hard = append(hard, p.Change)
		case p.Want.Digest == "" && p.Now.Present:
			err = d.Tree.SetAttr(p.Target, attr)
		default:
			err = batch.Stage(p.Target, p.Want.Content, attr)
		}
		if err != nil {
			return err
		}
		if p.Want.Present {
			written = append(written, p.Target)
		}
	}
	if err := batch.Commit(); err != nil {
		return err
	}
	for _, c := range hard {
		if err := d.Tree.HardLink(c.Want.Link, c.Target); err != nil {
			return err
		}
	}
	if d.Relabel != nil && len(written) > 0 {
		return d.Relabel(ctx, written)
	}
	return nil
}

// attrOf fills what the wish leaves open: from what is there, else root's and
// 0644 (0755 for a directory), as Ignition has it.
func attrOf(kind Kind, want, now State) host.Attr {
	attr := host.Attr{Mode: 0o644}
	if kind == Directory {
		attr.Mode = 0o755
	}
	for _, state := range []State{now, want} {
		if state.Mode != nil {
			attr.Mode = *state.Mode
		}
		if state.UID != nil {
			attr.UID = *state.UID
		}
		if state.GID != nil {
			attr.GID = *state.GID
		}
	}
	return attr
}

// Restore puts back what was at the path.
func (d *Paths) Restore(_ context.Context, c Change, before State) error {
	if !before.Present {
		return d.Tree.Remove(c.Target)
	}
	attr := attrOf(c.Kind, before, State{})
	attr.Xattrs = before.Xattrs
	switch host.FileType(before.Type) {
	case host.Directory:
		return d.Tree.Mkdir(c.Target, attr)
	case host.Symlink:
		return d.Tree.Symlink(before.Link, c.Target, attr)
	case host.Regular:
		batch := d.Tree.NewBatch()
		defer batch.Abort()
		if err := batch.Stage(c.Target, before.Content, attr); err != nil {
			return err
		}
		return batch.Commit()
	}
	return fmt.Errorf("what was there was a %s, which cannot be put back", before.Type)
}
