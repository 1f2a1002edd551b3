// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Step is one step of a join.
type Step = steps.Step[*join]

// run contains the function of each step of a join.
var run = map[string]func(context.Context, *join, report.Log) (steps.Outcome, error){
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
