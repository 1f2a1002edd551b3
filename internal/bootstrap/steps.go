// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Step is one step of a join.
type Step = steps.Step[*Flow]

// run contains the function of each step of a join.
var run = map[string]func(context.Context, *Flow, report.Log) (steps.Outcome, error){
	steps.Preflight:          checkHost,
	steps.Fetch:              fetchPayload,
	steps.Plan:               makePlan,
	steps.Validate:           runValidation,
	steps.Packages:           ensurePackages,
	steps.Files:              writeFiles,
	steps.System:             configureSystem,
	steps.Network:            attachUplink,
	steps.Runtime:            startRuntime,
	steps.ClientCertificate:  obtainClientCertificate,
	steps.Kubelet:            startKubelet,
	steps.ServingCertificate: awaitServing,
	steps.Ready:              awaitReady,
	steps.Schedulable:        awaitSchedulable,
}

// Steps returns the steps of a join in order.
func Steps() []Step { return selectSteps(func(s steps.JoinStep) bool { return !s.OnlyUpgrade }) }

// RunStep runs a step of a join, for an upgrade.
func RunStep(ctx context.Context, name string, j *Flow, log report.Log) (steps.Outcome, error) {
	return run[name](ctx, j, log)
}

// selectSteps returns the selected steps of a join in order.
func selectSteps(isSelected func(steps.JoinStep) bool) []Step {
	var selected []Step
	for _, step := range steps.JoinSteps() {
		if isSelected(step) {
			selected = append(selected, Step{Name: step.Name, Description: step.Description, Run: run[step.Name]})
		}
	}
	return selected
}
