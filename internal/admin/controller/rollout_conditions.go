// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// setRolloutConditions sets the conditions of a NodeRollout whose status has all other fields.
func setRolloutConditions(object *v1alpha1.NodeRollout, pool rollout.Pool) {
	status := &object.Status
	for kind, value := range map[string]condition{
		v1alpha1.ConditionCompleted:   completion(*status, pool),
		v1alpha1.ConditionProgressing: progress(*status),
		v1alpha1.ConditionPaused:      pause(pool),
		v1alpha1.ConditionDegraded:    degradation(*status, pool),
	} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value.status, Reason: value.reason,
			Message: report.Shorten(value.message, maxMessageLength), ObservedGeneration: object.Generation,
		})
	}
}

// completion returns the condition Completed.
func completion(status v1alpha1.NodeRolloutStatus, pool rollout.Pool) condition {
	switch {
	case pool.Config == "":
		return condition{metav1.ConditionFalse, "ConfigurationUnknown", pool.Blocked}
	case status.Updated < status.Nodes || len(status.Slots) > 0:
		return condition{metav1.ConditionFalse, "NodesOutdated", fmt.Sprintf(
			"%d of %d nodes have configuration %s", status.Updated, status.Nodes, pool.Config)}
	}
	return condition{metav1.ConditionTrue, "NodesUpdated", fmt.Sprintf(
		"all %d nodes have configuration %s", status.Nodes, pool.Config)}
}

// progress returns the condition Progressing.
func progress(status v1alpha1.NodeRolloutStatus) condition {
	if len(status.Slots) == 0 {
		return condition{metav1.ConditionFalse, "NoSlot", status.Waiting}
	}
	nodes := lists.Map(status.Slots, func(slot v1alpha1.UpgradeSlot) string { return slot.Node })
	return condition{metav1.ConditionTrue, "SlotsGiven", "nodes with a slot: " + strings.Join(nodes, ", ")}
}

// pause returns the condition Paused.
func pause(pool rollout.Pool) condition {
	if pool.IsPaused {
		return condition{metav1.ConditionTrue, "Paused", pool.Blocked}
	}
	return condition{metav1.ConditionFalse, "NotPaused", ""}
}

// degradation returns the condition Degraded.
func degradation(status v1alpha1.NodeRolloutStatus, pool rollout.Pool) condition {
	failures := status.CurrentFailures()
	switch {
	case len(failures) > 0:
		first := failures[0]
		return condition{metav1.ConditionTrue, "UpgradeFailed", fmt.Sprintf(
			"failed upgrades: %d, first that of %s: %s", len(failures), first.Node, first.Reason)}
	case pool.Blocked != "" && !pool.IsPaused:
		return condition{metav1.ConditionTrue, "Blocked", pool.Blocked}
	}
	return condition{metav1.ConditionFalse, "NoProblem", ""}
}
