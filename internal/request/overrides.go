// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// readOverrides reads the overrides of this run, or the saved overrides of an
// earlier run if none are given. The original files may no longer exist, for
// example those of cloud-init. Each new override is checked before the host is
// changed.
func (r *reader) readOverrides() (err error) {
	names := r.given.IgnitionOverrides
	if len(names) == 0 && r.inherits {
		r.request.Overrides, err = savedOverrides(r.StateDir)
		return err
	}
	var list []joinstate.Override
	for _, name := range names {
		content, err := r.readFile(name, "--ignition-override")
		if err != nil {
			return err
		}
		if err := ignition.CheckOverride(DescribeInput(name), content); err != nil {
			return err
		}
		list = append(list, joinstate.Override{Name: name, Config: content})
	}
	r.request.Overrides = list
	return nil
}

// savedOverrides returns the overrides of an earlier run, or none.
func savedOverrides(dir string) ([]joinstate.Override, error) {
	list, err := joinstate.LoadOverrides(dir)
	if err != nil && report.CodeOf(err) != report.Refused {
		return nil, report.UsageError("reading the saved Ignition overrides: %w; repeat --ignition-override", err)
	}
	return list, err
}
