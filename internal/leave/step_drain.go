// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

const (
	// contactTimeout is the maximum time a leave waits for the API server to respond.
	contactTimeout = 30 * time.Second
	// drainTimeout is the maximum time a leave waits for pods to terminate.
	drainTimeout = 5 * time.Minute
)

// drain cordons the node and evicts its pods with the node's own credential. If the
// cluster was deleted, is unreachable for contactTimeout, or rejects the credential, drain
// logs a warning and the leave continues without it.
func drain(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
	there, err := f.Machine.Tree.Exists(identity.KubeconfigPath)
	if err != nil {
		return steps.Outcome{}, err
	}
	if !there || f.State.NodeName == "" {
		return steps.Unchanged("this host has no node credentials")
	}
	return drainNode(ctx, identity.KubeconfigPath, f.State.NodeName, contactTimeout, log)
}

// drainNode drains the Node of this name. It waits at most timeout for the first response.
func drainNode(
	ctx context.Context, kubeconfig, name string, timeout time.Duration, log report.Log,
) (steps.Outcome, error) {
	contact, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	this, err := node.OpenNode(kubeconfig, name, nil, log)
	if err == nil {
		err = this.Cordon(contact, node.ForLeave)
	}
	if err != nil {
		if ctx.Err() != nil {
			return steps.Outcome{}, err
		}
		log.Warn("the node is not drained, because the cluster is unreachable or no longer accepts this node: "+err.Error(),
			report.Remedy(node.DeleteCommand(name)+" # if the cluster still exists"))
		return steps.Unchanged("the leave continues without the cluster")
	}
	ctx, cancel = context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := this.Evict(ctx, false); err != nil {
		return steps.Outcome{}, suggestNoDrain(err)
	}
	return steps.Changed("the node is cordoned and drained")
}

// suggestNoDrain adds the command that leaves without a drain to the remedy of err.
func suggestNoDrain(err error) error {
	return report.AddRemedy(err, "hcp-node-agent leave --no-drain # continues without draining and terminates the pods")
}
