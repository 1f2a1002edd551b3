// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// PublishedState is a State in a published document, whose format does not depend on the ledger's
// file.
type PublishedState struct {
	Present bool `json:"present" doc:"whether the object exists"`

	Type   hostfs.FileType   `json:"type,omitempty" doc:"current type of a path"`
	Digest string            `json:"digest,omitempty" doc:"SHA-256 of a file's content, hexadecimal"`
	Size   int64             `json:"size,omitempty" doc:"size of a file's content in bytes"`
	Mode   *uint32           `json:"mode,omitempty" doc:"permission bits as a decimal number: 420 is 0644"`
	UID    *int              `json:"uid,omitempty" doc:"user ID of the owner"`
	GID    *int              `json:"gid,omitempty" doc:"group ID of the owner"`
	Link   string            `json:"link,omitempty" doc:"target of a link"`
	Xattrs map[string][]byte `json:"-"`

	Enabled string `json:"enabled,omitempty" doc:"state of a unit file, as in systemctl is-enabled"`
	Active  string `json:"active,omitempty" doc:"state of a unit, as in systemctl is-active"`

	Value string          `json:"value,omitempty" doc:"value of another kind of object, such as a sysctl"`
	Names []string        `json:"names,omitempty" doc:"members of a set"`
	Data  json.RawMessage `json:"-"`

	Content []byte `json:"-"`
}

// String returns a short description without file contents.
func (s PublishedState) String() string { return State(s).String() }

// PublishedDifference is a Difference in a published document.
type PublishedDifference struct {
	Kind    Kind           `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target  string         `json:"target" doc:"path or name of the object"`
	Step    string         `json:"step" doc:"step of the join that changed the object"`
	Reason  string         `json:"reason,omitempty" doc:"source of the setting"`
	Desired PublishedState `json:"desired" doc:"state that the join created"`
	Now     PublishedState `json:"now" doc:"current state"`
	Backup  string         `json:"backup,omitempty" doc:"path of a backup of the state before the join"`
}

// Publish returns the differences for a published document.
func Publish(differences []Difference) []PublishedDifference {
	all := make([]PublishedDifference, 0, len(differences))
	for _, d := range differences {
		all = append(all, PublishedDifference{
			Kind:    d.Kind,
			Target:  d.Target,
			Step:    d.Step,
			Reason:  d.Reason,
			Desired: PublishedState(d.Desired),
			Now:     PublishedState(d.Now),
			Backup:  d.Backup,
		})
	}
	return all
}
