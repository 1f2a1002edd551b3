// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// IsReady reports whether the Ready condition of a Node is true.
func IsReady(node *corev1.Node) bool {
	ready := NodeCondition(node, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// IsOtherMachine reports whether a machine with another machine-id reports as a Node.
func IsOtherMachine(node *corev1.Node, machineID string) bool {
	reported := node.Status.NodeInfo.MachineID
	return machineID != "" && reported != "" && !strings.EqualFold(machineID, reported)
}

// NodeCondition returns a condition of a Node, or nil if the Node does not have it.
func NodeCondition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for n := range node.Status.Conditions {
		if node.Status.Conditions[n].Type == kind {
			return &node.Status.Conditions[n]
		}
	}
	return nil
}
