// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Status describes this host's Node in the cluster.
type Status struct {
	Name          string   `json:"name" doc:"name of the Node"`
	Ready         bool     `json:"ready" doc:"whether the Node is Ready"`
	Reason        string   `json:"reason,omitempty" doc:"why the Node is not Ready"`
	Unschedulable bool     `json:"unschedulable" doc:"whether the Node is cordoned"`
	Taints        []string `json:"taints,omitempty" doc:"taints as KEY[=VALUE]:EFFECT"`
	Kubelet       string   `json:"kubeletVersion,omitempty" doc:"version of kubelet"`
	Addresses     []string `json:"addresses,omitempty" doc:"addresses of the Node"`
}

// Status gets the Node's status with one request.
func (n *Node) Status(ctx context.Context) (Status, error) {
	node, err := n.Conn.Client.Nodes().Get(ctx, n.Name)
	if err != nil {
		problem := n.Conn.Explain(ctx, err)
		return Status{}, report.Fail(report.Failed, problem.Remedy, "getting Node %s: %s", n.Name,
			problem.Message)
	}
	return newStatus(node), nil
}

func newStatus(node *corev1.Node) Status {
	status := Status{
		Name:          node.Name,
		Ready:         kube.IsReady(node),
		Unschedulable: node.Spec.Unschedulable,
		Kubelet:       node.Status.NodeInfo.KubeletVersion,
	}
	if ready := kube.NodeCondition(node, corev1.NodeReady); ready != nil && !status.Ready {
		status.Reason = ready.Reason + ": " + servicelog.Shorten(ready.Message, servicelog.MaxMessage)
	}
	for _, taint := range node.Spec.Taints {
		status.Taints = append(status.Taints, taint.ToString())
	}
	for _, address := range node.Status.Addresses {
		status.Addresses = append(status.Addresses, address.Address)
	}
	return status
}

// String returns the state of the Node in one line, without its name.
func (s Status) String() string {
	text := "not Ready (" + s.Reason + ")"
	if s.Ready {
		text = "Ready"
	}
	switch {
	case s.Unschedulable:
		text += ", cordoned"
	case len(s.Taints) > 0:
		text += ", tainted " + strings.Join(s.Taints, " ")
	case s.Ready:
		text += " and schedulable"
	}
	return text
}
