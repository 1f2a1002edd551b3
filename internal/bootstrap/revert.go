// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages/nodelayer"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// revertObsolete restores the objects that the payload of an upgrade does not contain any more, and
// returns their number.
func (j *Flow) revertObsolete(ctx context.Context, log report.Log) (int, error) {
	if j.State.Upgrade == nil {
		return 0, nil
	}
	items, err := j.Obsolete(ctx, j.Plan)
	if err != nil {
		return 0, err
	}
	obsolete := map[string]bool{}
	for _, item := range items {
		obsolete[item.Key()] = true
	}
	return j.revert(ctx, log, func(item ledger.Item) bool { return obsolete[item.Key()] })
}

// revert restores the selected objects and returns their number.
func (j *Flow) revert(ctx context.Context, log report.Log, selected func(ledger.Item) bool) (int, error) {
	result, err := j.Ledger.Revert(ctx, selected)
	for _, kept := range result.Kept {
		log.Warn(kept.KeptMessage(), "")
	}
	return len(result.Restored), err
}

// removeObsoleteSoftware restores the paths of replaced packages that their new versions do not have.
func (j *Flow) removeObsoleteSoftware(ctx context.Context, log report.Log, dir string, names []string) error {
	if !j.Upgrading {
		return nil
	}
	table, err := packages.ReadTable()
	if err != nil {
		return err
	}
	isReplaced := func(old string) bool { return slices.Contains(names, j.Software.Equivalent(table, old)) }
	isObsolete, err := nodelayer.Obsolete(j.Ledger.Items(), dir, isReplaced)
	if err != nil {
		return err
	}
	_, err = j.revert(ctx, log, isObsolete)
	return err
}
