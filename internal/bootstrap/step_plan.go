// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// makePlan decides what the later steps do. It changes nothing. Settings of the payload that
// the administrator must apply are warnings.
func makePlan(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	if err := j.loadSoftware(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	var err error
	if j.Plan, err = j.Session.Build(ctx, j.Uplink, j.Loaded.Payload); err != nil {
		return steps.Outcome{}, err
	}
	j.Plan.RecordIn(&j.Run.State)
	for _, note := range j.Plan.Notes {
		if note.Remedy != "" {
			log.Warn(note.Subject+": "+note.Reason, note.Remedy)
		}
	}
	people, err := accounts.Plan(ctx, j.Session.Accounts(j.Plan))
	if err != nil {
		return steps.Outcome{}, err
	}
	requested := slices.Concat(people, j.Plan.KernelArguments, j.Plan.Files, j.Plan.HostSettings)
	pending, err := j.Host.Ledger.Diff(ctx, requested)
	if err != nil {
		return steps.Outcome{}, err
	}
	if len(pending) == 0 {
		return steps.Unchanged("%s; no changes needed", j.Plan.Summary())
	}
	return steps.Outcome{Summary: j.Plan.Summary() + " (see: hcp-node-agent plan)", Changed: true}, nil
}

// loadSoftware reads the release of the payload, and stores it for later runs. If it is unknown, the
// join continues: --openshift-release, or the installed kubelet, selects the packages.
func (j *Flow) loadSoftware(ctx context.Context, log report.Log) error {
	read, err := j.Software.Load(ctx, log)
	if err != nil {
		return err
	}
	if j.Software.Err != nil {
		err := j.Software.Err
		log.Warn("the release of the payload is unknown: "+err.Error(), report.RemedyOf(err))
	}
	if !read || (j.Run.Upgrading && j.Run.State.Upgrade == nil) {
		return nil // an upgrade stores it when it begins to change the host
	}
	return joinstate.SaveSoftware(j.Run.Dir, *j.Software.Contents)
}

// rebuildPlan builds the plan again after a step has changed what it was decided from, and
// reports the differences.
func (j *Flow) rebuildPlan(ctx context.Context, log report.Log) error {
	old := j.Plan
	var err error
	if j.Plan, err = j.Session.Build(ctx, j.Uplink, j.Loaded.Payload); err != nil {
		return err
	}
	for _, difference := range j.Plan.Differences(old) {
		log.Note("the plan has changed: " + difference)
	}
	return nil
}
