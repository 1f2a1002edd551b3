package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Kind is a kind of thing that can be changed.
type Kind string

// The kinds that this package can change by itself.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Link      Kind = "link"     // symbolic
	HardLink  Kind = "hardlink" // another name of Want.Link
	Unit      Kind = "unit"     // enabled or disabled, running or not
	Sysctl    Kind = "sysctl"   // the running kernel's value
	Module    Kind = "module"   // a kernel module, loaded
	Contents  Kind = "contents" // a directory whose contents others make, as kubelet does
	Shared    Kind = "shared"   // one in which people put files too, as in /etc/cni

	// ForeignSysctl is a sysctl that another program sets; only an undo writes it.
	ForeignSysctl Kind = "foreign sysctl"
)

// Change is one thing as it shall be. It is a value: plan prints it, Apply
// makes it so, two plans can be compared.
type Change struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`        // path, unit name, sysctl name, ...
	Why    string `json:"why,omitempty"` // where the wish comes from
	Want   State  `json:"want"`
	// Overwrite says that what is there may be replaced. The ledger does not
	// look at it: it is for those who keep Ignition's rules.
	Overwrite bool `json:"overwrite,omitempty"`
}

// Key tells changes of different things apart.
func (c Change) Key() string { return string(c.Kind) + ":" + c.Target }

// State is how a thing is or shall be. Which fields count depends on the kind.
// In a wish, a field that is nil or empty leaves things as they are.
type State struct {
	Present bool   `json:"present"`
	Type    string `json:"type,omitempty"` // in what was seen: what kind of file it is

	Digest string            `json:"digest,omitempty"` // SHA-256 of the content, hexadecimal
	Size   int64             `json:"size,omitempty"`
	Mode   *uint32           `json:"mode,omitempty"` // 07777
	UID    *int              `json:"uid,omitempty"`
	GID    *int              `json:"gid,omitempty"`
	Link   string            `json:"link,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`

	Enabled string `json:"enabled,omitempty"` // of a unit: enabled, disabled, masked, static, ...
	Active  string `json:"active,omitempty"`  // of a unit: active or inactive

	Value string   `json:"value,omitempty"` // of a sysctl; what a driver of another package keeps
	Names []string `json:"names,omitempty"` // of contents: what was there

	Content []byte `json:"-"` // of a file; only its digest is ever written to the ledger
}

// FileState is a file that shall have this content and mode, owned by root.
func FileState(content []byte, mode uint32) State {
	owner := 0
	return State{
		Present: true, Content: content, Digest: digest(content), Size: int64(len(content)),
		Mode: &mode, UID: &owner, GID: &owner,
	}
}

// sameLink is the Value of a hard link to a symbolic link: the text of a symbolic
// link could be the path of the hard link's target by chance.
const sameLink = "the same symbolic link"

// HardLinkState is another name of the file, or of the symbolic link, at target.
func HardLinkState(target string, is host.FileType) State {
	state := State{Present: true, Link: target}
	if is == host.Symlink {
		state.Type, state.Value = string(is), sameLink
	}
	return state
}

// Driver looks at, makes and gives back one kind of thing.
type Driver interface {
	// Look tells how the thing is now.
	Look(ctx context.Context, c Change) (State, error)
	// Make makes it as c.Want says; now is what Look told.
	Make(ctx context.Context, c Change, now State) error
	// Restore makes it as it was before.
	Restore(ctx context.Context, c Change, before State) error
}

// Same tells whether a thing is as wished: it is of the wished kind, and every
// field that the wish names is equal. Where something shall be absent, that is
// something of the wished kind: a removed directory stays removed when a file
// is put in its place. File stands for everything that is not a directory.
func (c Change) Same(now State) bool {
	want := c.Want
	if !want.Present {
		return !now.Present || !c.removes(now)
	}
	if !now.Present {
		return false
	}
	if kind := c.fileType(); kind != "" && kind != now.Type {
		return false
	}
	return unset(want.Digest, now.Digest) && unset(want.Link, now.Link) &&
		unset(want.Enabled, now.Enabled) && unset(want.Active, now.Active) && unset(want.Value, now.Value) &&
		equal(want.Mode, now.Mode) && equal(want.UID, now.UID) && equal(want.GID, now.GID)
}

// removes tells whether a wish for absence is about what is there.
func (c Change) removes(now State) bool {
	directory := string(host.Directory)
	switch c.Kind {
	case File, HardLink:
		return now.Type != directory
	case Directory:
		return now.Type == directory
	case Link:
		return now.Type == string(host.Symlink)
	}
	return true
}

// onPath tells whether the target is a path below a root.
func (c Change) onPath() bool { return c.fileType() != "" }

// fileType is the type of file that a change of a path makes, "" for other kinds.
func (c Change) fileType() string {
	if c.Kind == HardLink && c.Want.Type != "" {
		return c.Want.Type
	}
	return fileType(c.Kind)
}

func unset(want, now string) bool { return want == "" || want == now }

func equal[T comparable](want, now *T) bool {
	return want == nil || (now != nil && *want == *now)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// String says a state in few words, without contents.
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
