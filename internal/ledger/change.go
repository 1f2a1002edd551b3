package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Kind is the kind of a changed object.
type Kind string

// The kinds that have a driver in this package.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Symlink   Kind = "link"     // symbolic link
	HardLink  Kind = "hardlink" // another name of Desired.Link
	Unit      Kind = "unit"     // enabled or disabled, active or inactive
	Sysctl    Kind = "sysctl"   // the running kernel's value
	Module    Kind = "module"   // a loaded kernel module
	// Contents is a directory whose contents other components write, such as kubelet.
	Contents Kind = "contents"
	// SharedContents is a Contents directory in which administrators also create files, such as
	// /etc/cni.
	SharedContents Kind = "shared"

	// ForeignSysctl is a sysctl that another process sets. The ledger writes it only on
	// undo.
	ForeignSysctl Kind = "foreign sysctl"
)

// Change is the desired state of one object. It is a plain value: plans print it, Apply
// makes it, and two plans can be compared.
type Change struct {
	Kind    Kind   `json:"kind"`
	Target  string `json:"target"`        // path, unit name, sysctl name, ...
	Reason  string `json:"why,omitempty"` // the source of the setting
	Desired State  `json:"want"`
	// Overwrite allows an existing object to be replaced. The ledger ignores it; callers
	// that implement Ignition's rules check it.
	Overwrite bool `json:"overwrite,omitempty"`
}

// Key returns a string that identifies the changed object.
func (c Change) Key() string { return string(c.Kind) + ":" + c.Target }

// State is the current or desired state of an object. The fields in use depend on the kind.
// In a desired state, a field that is nil or empty leaves the attribute unchanged.
type State struct {
	Present bool   `json:"present"`
	Type    string `json:"type,omitempty"` // file type, in a current state

	Digest string            `json:"digest,omitempty"` // SHA-256 of the content, hexadecimal
	Size   int64             `json:"size,omitempty"`
	Mode   *uint32           `json:"mode,omitempty"` // 07777
	UID    *int              `json:"uid,omitempty"`
	GID    *int              `json:"gid,omitempty"`
	Link   string            `json:"link,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`

	Enabled string `json:"enabled,omitempty"` // unit: enabled, disabled, masked, static, ...
	Active  string `json:"active,omitempty"`  // unit: active or inactive

	Value string   `json:"value,omitempty"` // sysctl value, or data of a driver in another package
	Names []string `json:"names,omitempty"` // contents: the names in the directory

	Content []byte `json:"-"` // file content; the ledger's log holds only its digest
}

// FileState returns the state of a file with this content and mode, owned by root.
func FileState(content []byte, mode uint32) State {
	owner := 0
	return State{
		Present: true, Content: content, Digest: digest(content), Size: int64(len(content)),
		Mode: &mode, UID: &owner, GID: &owner,
	}
}

// FileChange returns the change that writes a file with mode 0644, owned by root.
func FileChange(target, reason, content string) Change {
	return Change{Kind: File, Target: target, Reason: reason, Desired: FileState([]byte(content), 0o644)}
}

// sameSymlink is the Value of a hard link to a symbolic link. The text of the symbolic link
// cannot serve: it can equal the path of the hard link's target by chance.
const sameSymlink = "the same symbolic link"

// HardLinkState returns the state of a hard link to the file or symbolic link at target.
func HardLinkState(target string, is hostfs.FileType) State {
	state := State{Present: true, Link: target}
	if is == hostfs.Symlink {
		state.Type, state.Value = string(is), sameSymlink
	}
	return state
}

// Driver reads, sets and restores objects of one kind.
type Driver interface {
	// Get returns the current state of the object.
	Get(ctx context.Context, c Change) (State, error)
	// Set applies c.Desired; now is the state that Get returned.
	Set(ctx context.Context, c Change, now State) error
	// Restore reverts the object to the state before.
	Restore(ctx context.Context, c Change, before State) error
}

// Matches reports whether now matches the desired state: the kind is the same, and every field
// that the desired state sets is equal. A desired absence only concerns objects of the same
// kind: a removed directory counts as removed when a file replaces it. File stands for
// every type but a directory.
func (c Change) Matches(now State) bool {
	want := c.Desired
	if !want.Present {
		return !now.Present || !c.removes(now)
	}
	if !now.Present {
		return false
	}
	if kind := c.fileType(); kind != "" && kind != now.Type {
		return false
	}
	return emptyOrEqual(want.Digest, now.Digest) && emptyOrEqual(want.Link, now.Link) &&
		emptyOrEqual(want.Enabled, now.Enabled) && emptyOrEqual(want.Active, now.Active) && emptyOrEqual(want.Value, now.Value) &&
		nilOrEqual(want.Mode, now.Mode) && nilOrEqual(want.UID, now.UID) && nilOrEqual(want.GID, now.GID)
}

// removes reports whether a desired absence concerns the existing object.
func (c Change) removes(now State) bool {
	directory := string(hostfs.Directory)
	switch c.Kind {
	case File, HardLink:
		return now.Type != directory
	case Directory:
		return now.Type == directory
	case Symlink:
		return now.Type == string(hostfs.Symlink)
	}
	return true
}

// isPath reports whether the target is a path below the root.
func (c Change) isPath() bool { return c.fileType() != "" }

// fileType returns the type of file that the change makes, or "" if the target is no path.
func (c Change) fileType() string {
	if c.Kind == HardLink && c.Desired.Type != "" {
		return c.Desired.Type
	}
	return fileType(c.Kind)
}

func emptyOrEqual(want, now string) bool { return want == "" || want == now }

func nilOrEqual[T comparable](want, now *T) bool {
	return want == nil || (now != nil && *want == *now)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// String returns a short description without file contents.
func (s State) String() string {
	if !s.Present {
		return "absent"
	}
	text := "present"
	if s.Digest != "" {
		text = fmt.Sprintf("%d bytes, sha256 %.12s", s.Size, s.Digest)
	}
	if s.Link != "" {
		text = "link to " + s.Link
	}
	if s.Mode != nil {
		text += fmt.Sprintf(", mode %04o", *s.Mode)
	}
	if s.Enabled != "" {
		text = s.Enabled
	}
	if s.Active != "" {
		text += " " + s.Active
	}
	if s.Value != "" {
		text = s.Value
	}
	return text
}
