// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// SaveSoftware stores what the OS image of the payload contains for later runs.
func SaveSoftware(dir string, contents software.Contents) error {
	g := Generation{Files: map[string][]byte{}}
	if err := g.SetSoftware(contents); err != nil {
		return err
	}
	return SaveFile(dir, SoftwareFile, g.Files[SoftwareFile])
}

// LoadSoftware returns what SaveSoftware has stored, or nil if there is nothing.
func LoadSoftware(dir string) (*software.Contents, error) {
	content, err := LoadFile(dir, SoftwareFile)
	if err != nil {
		return nil, err
	}
	return Generation{Files: map[string][]byte{SoftwareFile: content}}.Software()
}

// Software returns what the OS image of the generation's payload contains, or nil if it is unknown.
func (g Generation) Software() (*software.Contents, error) {
	content := g.Files[SoftwareFile]
	if content == nil {
		return nil, nil
	}
	var contents software.Contents
	if err := json.Unmarshal(content, &contents); err != nil {
		return nil, fmt.Errorf("reading %s: %w", SoftwareFile, err)
	}
	return &contents, nil
}

// SetSoftware sets what Software returns.
func (g Generation) SetSoftware(contents software.Contents) error {
	content, err := json.Marshal(contents)
	if err != nil {
		return fmt.Errorf("encoding the software of the payload: %w", err)
	}
	g.Files[SoftwareFile] = content
	return nil
}
