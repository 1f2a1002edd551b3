// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestPropertiesOfSteps(t *testing.T) {
	for name, want := range map[string]struct{ got, want []string }{
		"--until": {UntilValues(), []string{ClientCertificate, Kubelet, Ready, Schedulable}},
		"--only":  {IndependentSteps(), []string{Network}},
		"repair": {
			Names(func(s JoinStep) bool { return s.Restores }),
			[]string{Fetch, Plan, Files, System, Network, Runtime, Kubelet},
		},
		"upgrade": {Names(func(s JoinStep) bool { return s.OnlyUpgrade }), []string{Stage, Drain}},
		"cannot be skipped": {
			Names(func(s JoinStep) bool { return !s.CanSkip }), []string{Fetch, Plan, Stage, Drain},
		},
		"payload": {Names(func(s JoinStep) bool { return s.OwnsPayload }), []string{Files, System}},
	} {
		if !slices.Equal(want.got, want.want) {
			t.Errorf("%s: %q, want %q", name, want.got, want.want)
		}
	}
	for _, step := range JoinSteps() {
		if step.Description == "" || FindJoinStep(step.Name).Name != step.Name {
			t.Errorf("%s: description %q", step.Name, step.Description)
		}
		changesNode := step.Restores && step.Name != Fetch && step.Name != Plan && step.Name != Network
		if changesNode && step.IsRetryable != nil && step.IsRetryable(report.Failed) {
			t.Errorf("%s changes the node and is retried", step.Name)
		}
	}
}
