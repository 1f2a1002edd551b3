// SPDX-License-Identifier: Apache-2.0

package request

import (
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// readOverrides returns the overrides of this run, or the saved overrides of an
// earlier run if none are given. The original files may no longer exist, for
// example those of cloud-init. Each new override is checked before the host is
// changed.
func readOverrides(c config.Join, state joinstate.State, dir string, resume bool,
	stdin io.Reader,
) ([]joinstate.Override, error) {
	if resume || (len(c.IgnitionOverrides) == 0 && !StartsOver(c, state)) {
		return SavedOverrides(dir)
	}
	var list []joinstate.Override
	for _, name := range c.IgnitionOverrides {
		content, err := ReadFile(name, stdin, "--ignition-override")
		if err != nil {
			return nil, err
		}
		if err := ignition.CheckOverride(DescribeInput(name), content); err != nil {
			return nil, err
		}
		list = append(list, joinstate.Override{Name: name, Config: content})
	}
	return list, nil
}

// SavedOverrides returns the overrides of an earlier run, or none.
func SavedOverrides(dir string) ([]joinstate.Override, error) {
	list, err := joinstate.LoadOverrides(dir)
	if err != nil && report.CodeOf(err) != report.Refused {
		return nil, UsageError("reading the saved Ignition overrides: %w; repeat --ignition-override", err)
	}
	return list, err
}
