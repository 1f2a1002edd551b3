// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// inspectServing returns findings if a running kubelet has no serving certificate,
// or one for a previous address.
func inspectServing(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if !d.hasStarted() || !d.State.HasCompleted(steps.Kubelet) || !d.Facts.Root {
		return nil, nil
	}
	node, err := d.ownNode()
	if err != nil {
		return nil, nil //nolint:nilerr // reported by the section for the join and the certificates
	}
	serving, err := plan.ServingCertificate(node, d.State.Topology())
	if err != nil {
		return nil, err
	}
	text, remedy := serving.Problem(ctx)
	if text == "" {
		return nil, nil
	}
	return []report.Finding{{Severity: report.SeverityProblem, Message: text, Remedy: remedy}}, nil
}
