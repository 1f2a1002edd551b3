// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// softwareDocument is the content of SoftwareFile.
type softwareDocument struct {
	report.TypeMeta
	software.Contents
}

const kindSoftware = "PayloadSoftware"

// SaveSoftware stores what the OS image of the payload contains for later runs.
func SaveSoftware(dir string, contents software.Contents) error {
	return SaveDocument(dir, SoftwareFile, softwareDocument{report.Meta(kindSoftware), contents})
}

// LoadSoftware returns what SaveSoftware has stored, or nil if there is nothing.
func LoadSoftware(dir string) (*software.Contents, error) {
	content, err := LoadFile(dir, SoftwareFile)
	if err != nil {
		return nil, err
	}
	return Generation{Files: map[string][]byte{SoftwareFile: content}}.Software()
}

// CheckSoftware fails if another version of the agent has stored what the OS image of the payload contains. Runs
// that change the host call it before the first change. A damaged file is replaced.
func CheckSoftware(dir string) error {
	if _, err := LoadSoftware(dir); report.CodeOf(err) == report.Refused {
		return err
	}
	return nil
}

// Software returns what the OS image of the generation's payload contains, or nil if it is unknown.
func (g Generation) Software() (*software.Contents, error) {
	content := g.Files[SoftwareFile]
	if content == nil {
		return nil, nil
	}
	var document softwareDocument
	if err := decode(SoftwareFile, kindSoftware, content, &document); err != nil {
		return nil, err
	}
	return &document.Contents, nil
}

// SetSoftware sets what Software returns.
func (g Generation) SetSoftware(contents software.Contents) error {
	content, err := report.Encode(softwareDocument{report.Meta(kindSoftware), contents})
	if err != nil {
		return fmt.Errorf("encoding the software of the payload: %w", err)
	}
	g.Files[SoftwareFile] = content
	return nil
}
