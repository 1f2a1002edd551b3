// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CordonReason is why this agent cordons the Node. It is the name of an annotation that marks the
// cordon, which the agent may remove. A cordon by an administrator never has the annotation.
type CordonReason string

// The reasons of a cordon.
const (
	ForLeave       CordonReason = "hcp-node-agent.io/cordoned-by-leave"
	ForUpgrade     CordonReason = "hcp-node-agent.io/cordoned-by-upgrade"
	ForMaintenance CordonReason = "hcp-node-agent.io/cordoned-by-maintenance"
)

// cordonReasons returns all reasons, the most important first: a Node can have the annotation of an earlier cordon.
func cordonReasons() []CordonReason { return []CordonReason{ForLeave, ForUpgrade, ForMaintenance} }

// uncordonNotes are the messages when a Node is uncordoned.
var uncordonNotes = map[CordonReason]string{
	ForLeave:       "a previous leave of this agent cordoned the Node; uncordoning it",
	ForUpgrade:     "uncordoning the Node after the upgrade",
	ForMaintenance: "uncordoning the Node after the maintenance",
}

// cordonedFor returns why the agent has cordoned the Node, or "" if it has not.
func cordonedFor(node *corev1.Node) CordonReason {
	for _, reason := range cordonReasons() {
		if node.Spec.Unschedulable && node.Annotations[string(reason)] != "" {
			return reason
		}
	}
	return ""
}

// explain returns which command of the agent has cordoned the Node for the reason, and what uncordons it.
func (r CordonReason) explain() string {
	command := "hcp-node-agent " + strings.TrimPrefix(string(r), "hcp-node-agent.io/cordoned-by-")
	if r == ForLeave {
		return command + " cordoned the Node; the next join uncordons it"
	}
	return command + " cordoned the Node, and uncordons it at its end"
}

// Cordon marks this node's Node unschedulable, which the node's own credential
// allows. A Node that is already cordoned or does not exist remains unchanged.
func (n *Node) Cordon(ctx context.Context, reason CordonReason) error {
	return n.Conn.Retry(ctx, n.Log, "cordoning Node "+n.Name, func() error {
		node, err := n.get(ctx)
		if err != nil || node == nil || node.Spec.Unschedulable {
			return err
		}
		return n.patch(ctx, true, map[string]any{string(reason): report.Timestamp(metav1.Now().Time)})
	})
}

func (n *Node) uncordon(ctx context.Context) error {
	annotations := map[string]any{}
	for _, reason := range cordonReasons() {
		annotations[string(reason)] = nil
	}
	return n.Conn.Retry(ctx, n.Log, "uncordoning Node "+n.Name, func() error {
		return n.patch(ctx, false, annotations)
	})
}

// UndoCordon uncordons this node's Node if Cordon has cordoned it for the reason.
func (n *Node) UndoCordon(ctx context.Context, reason CordonReason) error {
	node, err := kube.Fetch(ctx, n.Conn, n.Log, "getting Node "+n.Name,
		func() (*corev1.Node, error) { return n.get(ctx) })
	if err != nil || node == nil || cordonedFor(node) != reason {
		return err
	}
	return n.uncordon(ctx)
}

func (n *Node) patch(ctx context.Context, unschedulable bool, annotations map[string]any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": annotations},
		"spec":     map[string]any{"unschedulable": unschedulable},
	})
	if err != nil {
		return fmt.Errorf("encoding patch: %w", err)
	}
	_, err = n.Conn.Client.Nodes().Patch(ctx, n.Name, types.MergePatchType, patch)
	return err
}
