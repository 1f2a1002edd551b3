// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
)

// Override is an Ignition config that is merged over the payload. It is as secret
// as the payload.
type Override struct {
	Name   string `json:"name"` // as given on the command line
	Config []byte `json:"config"`
}

// readOverrides returns the overrides of this run, or the saved overrides of an
// earlier run if none are given. The original files may no longer exist, for
// example those of cloud-init. Each new override is checked before the host is
// changed.
func readOverrides(c config.Join, state joinstate.State, dir string, resume bool, stdin io.Reader) ([]Override, error) {
	if resume || (len(c.IgnitionOverrides) == 0 && !StartsOver(c, state)) {
		return SavedOverrides(dir)
	}
	var list []Override
	for _, name := range c.IgnitionOverrides {
		content, err := ReadFile(name, stdin, "--ignition-override")
		if err != nil {
			return nil, err
		}
		if err := ignition.CheckOverride(DescribeInput(name), content); err != nil {
			return nil, err
		}
		list = append(list, Override{name, content})
	}
	return list, nil
}

// SavedOverrides returns the overrides of an earlier run, or none.
func SavedOverrides(dir string) ([]Override, error) {
	content, err := joinstate.LoadFile(dir, joinstate.OverridesFile)
	if err != nil || content == nil {
		return nil, err
	}
	var list []Override
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, UsageError("reading the saved Ignition overrides: %w; repeat --ignition-override", err)
	}
	return list, nil
}

// SaveOverrides saves the overrides for later runs.
func SaveOverrides(dir string, list []Override) error {
	content, err := EncodeOverrides(list)
	if err != nil {
		return err
	}
	if content == nil {
		return joinstate.RemoveFiles(dir, joinstate.OverridesFile)
	}
	return joinstate.SaveFile(dir, joinstate.OverridesFile, content)
}

// EncodeOverrides returns the content of joinstate.OverridesFile, or nil if there are no overrides.
func EncodeOverrides(list []Override) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	content, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encoding Ignition overrides: %w", err)
	}
	return content, nil
}
