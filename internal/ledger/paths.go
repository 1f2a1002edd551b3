package ledger

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Paths is the driver of files, directories and links below a root.
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
		Present: true, Type: string(info.Type), Mode: &info.Mode, UID: &info.UID, GID: &info.GID,
		Link: info.Link, Xattrs: info.Xattrs,
	}
	switch info.Type {
	case hostfs.Regular:
		state.Content, state.Digest, state.Size = content, digest(content), int64(len(content))
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

// fileType returns the type of file of a path kind, or "" for other kinds.
func fileType(kind Kind) string {
	switch kind {
	case File, HardLink:
		return string(hostfs.Regular)
	case Directory:
		return string(hostfs.Directory)
	case Symlink:
		return string(hostfs.Symlink)
	}
	return ""
}

// DirectoryState returns the state of a directory with this mode, owned by root.
func DirectoryState(mode uint32) State {
	owner := 0
	return State{Present: true, Mode: &mode, UID: &owner, GID: &owner}
}

// attrOf returns the desired attributes. Unset attributes come from the existing file, else
// the file is owned by root with mode 0644 (0755 for a directory), as in Ignition.
func attrOf(kind Kind, want, now State) hostfs.Attr {
	attr := hostfs.Attr{Mode: 0o644}
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
