// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// State is the current or desired state of an object. The kind determines the fields in use.
// In a desired state, a field that is nil or empty leaves the attribute unchanged.
type State struct {
	Present bool `json:"present"`

	// Paths.
	Type   hostfs.FileType   `json:"type,omitempty"`   // in a current state
	Digest string            `json:"digest,omitempty"` // SHA-256 of the content, hexadecimal
	Size   int64             `json:"size,omitempty"`
	Mode   *uint32           `json:"mode,omitempty"` // 07777
	UID    *int              `json:"uid,omitempty"`
	GID    *int              `json:"gid,omitempty"`
	Link   string            `json:"link,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`

	// Units.
	Enabled string `json:"enabled,omitempty"` // enabled, disabled, masked, static, ...
	Active  string `json:"active,omitempty"`  // active or inactive

	// Other kinds.
	Value string   `json:"value,omitempty"` // a setting in one line: the value of a sysctl, for example
	Names []string `json:"names,omitempty"` // the members of a set: the names in a directory, for example
	// Data contains further data that the driver needs for Restore, encoded from its own type.
	Data json.RawMessage `json:"data,omitempty"`

	Content []byte `json:"-"` // file content; the ledger's log holds only its digest
}

// FileState returns the state of a file with this content and mode, owned by root.
func FileState(content []byte, mode uint32) State {
	s := DirectoryState(mode)
	s.Content, s.Digest, s.Size = content, digest(content), int64(len(content))
	return s
}

// DirectoryState returns the state of a directory with this mode, owned by root.
func DirectoryState(mode uint32) State {
	owner := 0
	return State{Present: true, Mode: &mode, UID: &owner, GID: &owner}
}

// sameSymlink is the Value of a hard link to a symbolic link. The text of the symbolic link
// cannot serve: it can equal the path of the hard link's target by chance.
const sameSymlink = "the same symbolic link"

// HardLinkState returns the state of a hard link to the file or symbolic link at target.
func HardLinkState(target string, is hostfs.FileType) State {
	state := State{Present: true, Link: target}
	if is == hostfs.Symlink {
		state.Type, state.Value = is, sameSymlink
	}
	return state
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

// isIdentical compares two states as they are in the ledger's file, where nil and empty are equal.
func isIdentical(a, b State) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
