// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Override is an Ignition config that is merged over the payload. It is as secret as the payload.
type Override struct {
	Name   string `json:"name"` // as given on the command line
	Config []byte `json:"config"`
}

// overridesDocument is the content of OverridesFile.
type overridesDocument struct {
	report.TypeMeta
	Overrides []Override `json:"overrides"`
}

const kindOverrides = "IgnitionOverrides"

// SaveOverrides saves the overrides for later runs.
func SaveOverrides(dir string, list []Override) error {
	if len(list) == 0 {
		return RemoveFiles(dir, OverridesFile)
	}
	return SaveDocument(dir, OverridesFile, overridesDocument{report.Meta(kindOverrides), list})
}

// LoadOverrides returns what SaveOverrides has saved, or none.
func LoadOverrides(dir string) ([]Override, error) {
	var document overridesDocument
	_, err := LoadDocument(dir, OverridesFile, kindOverrides, &document)
	return document.Overrides, err
}

// SetOverrides sets the overrides of the generation.
func (g Generation) SetOverrides(list []Override) error {
	if len(list) == 0 {
		return nil
	}
	content, err := report.Encode(overridesDocument{report.Meta(kindOverrides), list})
	if err != nil {
		return fmt.Errorf("encoding Ignition overrides: %w", err)
	}
	g.Files[OverridesFile] = content
	return nil
}

// checkOverrides fails if another version of the agent has written the overrides of the generation.
func (g Generation) checkOverrides() error {
	content := g.Files[OverridesFile]
	if content == nil {
		return nil
	}
	return decode(OverridesFile, kindOverrides, content, &overridesDocument{})
}
