// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// awaitServing waits until kubelet has its serving certificate.
func awaitServing(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	node, err := j.Session.NodeClient(j.Loaded.Payload, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	serving, err := plan.ServingCertificate(node, j.Run.State.Topology())
	if err != nil {
		return steps.Outcome{}, err
	}
	if j.Run.JoinToken != nil && serving.Check() != identity.Valid {
		serving.Quiet = identity.EnrolledQuiet
	}
	result, err := serving.Obtain(ctx, ownApprover(j.Run, serving.Addresses))
	if err != nil {
		return steps.Outcome{}, err
	}
	if !result.Changed {
		return steps.Unchanged("kubelet has its serving certificate")
	}
	if result.CSR == "" { // approved before the agent saw the CSR
		return steps.Changed("kubelet has its serving certificate")
	}
	return steps.Changed("kubelet has its serving certificate (CSR %s)", result.CSR)
}
