// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// awaitSchedulable waits until no taint makes the node unschedulable.
func awaitSchedulable(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	node, err := j.Session.NodeClient(j.Loaded.Payload, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := node.WaitSchedulable(ctx); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("Node %s is schedulable", j.Run.State.NodeName)
}
