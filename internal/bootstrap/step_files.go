// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// writeFiles sets the kernel arguments if requested, and creates the payload's files, directories,
// links and unit files.
func writeFiles(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	// First: a reboot must not start units of the payload before the uplink is attached to br-ex.
	arguments, err := j.bootSettings().setKernelArguments(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := trackConfigs(ctx, j.Host.Ledger, j.Plan.LoadedConfigs); err != nil {
		return steps.Outcome{}, err
	}
	if err := machine.RecordClusterDirs(ctx, j.Host.Ledger, j.Host.Tree, j.Plan.Snapshots); err != nil {
		return steps.Outcome{}, err
	}
	owners, err := j.createAccounts(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	removed, err := j.revertObsolete(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.removeAddedBundle(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	made, err := j.Host.Ledger.Apply(ctx, steps.Files, j.Plan.Files)
	if err != nil {
		return steps.Outcome{}, err
	}
	if made = slices.Concat(arguments, owners, made); removed > 0 {
		return steps.Changed("changes: %d, of existing files: %d, removed: %d", len(made), countReplaced(made), removed)
	}
	if len(made) == 0 {
		return steps.Unchanged("%d files, directories and links unchanged", len(j.Plan.Files))
	}
	return steps.Changed("changes: %d, of existing files: %d", len(made), countReplaced(made))
}

// revertObsolete restores the objects that the payload of an upgrade does not contain any more, and
// returns their number.
func (j *Flow) revertObsolete(ctx context.Context, log report.Log) (int, error) {
	if j.Run.State.Upgrade == nil {
		return 0, nil
	}
	items, err := j.Session.Obsolete(ctx, j.Plan)
	if err != nil {
		return 0, err
	}
	obsolete := map[string]bool{}
	for _, item := range items {
		obsolete[item.Key()] = true
	}
	return j.Host.Ledger.RevertAndWarn(ctx, log, func(item ledger.Item) bool { return obsolete[item.Key()] })
}

// createAccounts creates the plan's groups, users and keys. It then builds the plan again,
// because the numeric IDs of file owners are known only after the accounts exist.
func (j *Flow) createAccounts(ctx context.Context, log report.Log) ([]ledger.PlannedChange, error) {
	if len(j.Plan.Accounts.Users)+len(j.Plan.Accounts.Groups) == 0 {
		return nil, nil
	}
	made, err := accounts.Apply(ctx, j.Host.Ledger, j.Host.Tree, steps.Files, j.Session.Accounts(j.Plan))
	if err != nil || len(made) == 0 {
		return nil, err
	}
	return made, j.rebuildPlan(ctx, log)
}

func countReplaced(made []ledger.PlannedChange) int {
	return lists.Count(made, func(p ledger.PlannedChange) bool { return p.Now.Present })
}
