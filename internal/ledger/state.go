// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// State is the current or desired state of an object. The kind determines the fields in use.
// In a desired state, a field that is nil or empty leaves the attribute unchanged. Published documents
// contain the fields that Published keeps.
type State struct {
	Present bool `json:"present" doc:"whether the object exists"`

	// Paths. A desired state has no type.
	Type   hostfs.FileType   `json:"type,omitempty" doc:"current type of a path"`
	Digest string            `json:"digest,omitempty" doc:"SHA-256 of a file's content, hexadecimal"`
	Size   int64             `json:"size,omitempty" doc:"size of a file's content in bytes"`
	Mode   *uint32           `json:"mode,omitempty" doc:"permission bits as a decimal number: 420 is 0644"`
	UID    *int              `json:"uid,omitempty" doc:"user ID of the owner"`
	GID    *int              `json:"gid,omitempty" doc:"group ID of the owner"`
	Link   string            `json:"link,omitempty" doc:"target of a link"`
	Xattrs map[string][]byte `json:"xattrs,omitempty" doc:"-"`

	// Units.
	Enabled string `json:"enabled,omitempty" doc:"state of a unit file, as in systemctl is-enabled"`
	Active  string `json:"active,omitempty" doc:"state of a unit, as in systemctl is-active"`

	// Other kinds.
	Value string   `json:"value,omitempty" doc:"value of another kind of object, such as a sysctl"`
	Names []string `json:"names,omitempty" doc:"members of a set"`
	// Data contains further data that the driver needs for Restore, encoded from its own type.
	Data json.RawMessage `json:"data,omitempty" doc:"-"`

	Content []byte `json:"-"` // file content; the ledger's log holds only its digest
}

// Published returns the state for a published document: without the fields that only the ledger needs.
func (s State) Published() State {
	s.Xattrs, s.Data = nil, nil
	return s
}

// DecodeData decodes Data, if there is any, into the type of the driver.
func (s State) DecodeData(into any) error {
	if s.Data == nil {
		return nil
	}
	return report.DecodeFields(s.Data, into)
}

// FileState returns the state of a file with this content and mode, owned by root.
func FileState(content []byte, mode uint32) State {
	return DirectoryState(mode).WithContent(content)
}

// WithContent returns the state with the content of a file.
func (s State) WithContent(content []byte) State {
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
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
