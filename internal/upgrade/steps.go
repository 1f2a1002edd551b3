// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Step is one step of an upgrade.
type Step = steps.Step[*run]

// own contains the functions of the steps that differ from those of a join.
var own = map[string]func(context.Context, *run, report.Log) (steps.Outcome, error){
	steps.Fetch:    fetchPayload,
	steps.Validate: validate,
	steps.Stage:    stage,
	steps.Drain:    drainNode,
}

// Steps returns the steps of an upgrade in order: those of a join, with the steps stage and drain before the first
// change of the node.
func Steps() []Step {
	var all []Step
	for _, step := range steps.JoinSteps() {
		all = append(all, Step{Name: step.Name, Description: step.Description, Run: runStep(step.Name)})
	}
	return all
}

// runStep returns the function of a step: the upgrade's own one, else that of a join.
func runStep(name string) func(context.Context, *run, report.Log) (steps.Outcome, error) {
	if function, found := own[name]; found {
		return function
	}
	return func(ctx context.Context, r *run, log report.Log) (steps.Outcome, error) {
		return bootstrap.RunStep(ctx, name, r.node, log)
	}
}

// parts returns the steps of an upgrade in three parts: what happens while pods run, the drain,
// and the changes of the node.
func parts() (prepare, drain, change []Step) {
	all := Steps()
	at := slices.IndexFunc(all, func(step Step) bool { return step.Name == steps.Drain })
	return all[:at], all[at : at+1], all[at+1:]
}

// fetchPayload gets the payload of the user data, or that of an unfinished upgrade, which is installed.
func fetchPayload(ctx context.Context, r *run, log report.Log) (steps.Outcome, error) {
	if r.state().Upgrade != nil {
		if err := r.node.LoadPayload(ctx, log, r.node.Run.SavedPayload(), r.node.Run.PayloadServer()); err != nil {
			return steps.Outcome{}, err
		}
		return steps.Unchanged("%s, stored by an earlier run", r.node.Loaded.Summary())
	}
	if err := r.node.LoadPayload(ctx, log, r.node.Run.PayloadServer()); err != nil {
		return steps.Outcome{}, err
	}
	for _, warning := range r.node.Loaded.Payload.Warnings {
		log.Note(warning)
	}
	isSame := r.state().PayloadDigest == r.node.Loaded.Payload.Digest
	r.state().PayloadDigest, r.state().PayloadConfigHash = r.node.Loaded.Payload.Digest, r.state().ConfigHash
	var err error
	if r.state().PayloadSourceDigest, err = r.node.Run.UserData.Digest(); err != nil {
		return steps.Outcome{}, err
	}
	if isSame {
		return steps.Unchanged("%s from %s, unchanged", r.node.Loaded.Summary(), r.node.Loaded.Payload.Server)
	}
	return steps.Changed("%s from %s", r.node.Loaded.Summary(), r.node.Loaded.Payload.Server)
}

// validate runs the checks that need the payload. The release must be known, because the
// software of the node must match it.
func validate(ctx context.Context, r *run, log report.Log) (steps.Outcome, error) {
	if r.node.Software.Err != nil && r.node.Run.Config.OpenShiftRelease == config.Defaults().OpenShiftRelease {
		return steps.Outcome{}, report.Fail(report.Refused,
			"# make the OS image readable, or name the release of the NodePool with --openshift-release 4.Y",
			"the release of the payload is unknown: %w", r.node.Software.Err)
	}
	if r.isStaged() {
		r.useStagedPackages()
	}
	outcome, err := bootstrap.RunStep(ctx, steps.Validate, r.node, log)
	if err == nil && r.state().Upgrade == nil && !r.options.Stage {
		_, _, err = r.checkDrain(ctx, log) // before the download
	}
	return outcome, err
}
