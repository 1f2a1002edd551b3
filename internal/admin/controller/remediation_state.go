// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/remediation"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rightsInterval is the time between two decisions while the controller lacks a permission.
const rightsInterval = time.Minute

// remediationPool is the state of the nodes of a NodePool, and of all Nodes of the cluster.
type remediationPool struct {
	nodes   []remediation.Node
	cluster remediation.Cluster
	objects map[string]*corev1.Node             // all Nodes; they must not be changed
	records map[string]*v1alpha1.NodeEnrollment // of the NodePool
}

// gather reads the NodeRemediation of a NodePool and the state of its nodes. It reads the Nodes first, so that their
// state is not newer than the records of the NodeRemediation. It returns nil if the NodeRemediation does not exist.
func (r *remediationReconciler) gather(
	ctx context.Context, reader client.Reader, nodePool string, now time.Time,
) (*v1alpha1.NodeRemediation, remediationPool, error) {
	pool := remediationPool{
		objects: map[string]*corev1.Node{}, records: map[string]*v1alpha1.NodeEnrollment{},
	}
	object, rollout := &v1alpha1.NodeRemediation{}, &v1alpha1.NodeRollout{}
	key := client.ObjectKey{Name: nodePool}
	if err := r.client.Get(ctx, key, &v1alpha1.NodeRemediation{}); err != nil { // most NodePools have none
		return nil, pool, client.IgnoreNotFound(err)
	}
	var all corev1.NodeList
	if err := reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, pool, fmt.Errorf("listing the Nodes: %w", err)
	}
	if err := reader.Get(ctx, key, rollout); client.IgnoreNotFound(err) != nil {
		return nil, pool, fmt.Errorf("getting the NodeRollout: %w", err)
	}
	if err := reader.Get(ctx, key, object); err != nil {
		return nil, pool, client.IgnoreNotFound(err)
	}
	enrollments, err := enrollmentsOfPool(ctx, r.client, nodePool)
	if err != nil {
		return nil, pool, err
	}
	pool.cluster.Nodes = len(all.Items)
	for i := range all.Items {
		node := &all.Items[i]
		pool.objects[node.Name] = node
		if readyStatus(node) == corev1.ConditionUnknown {
			pool.cluster.Unresponsive = append(pool.cluster.Unresponsive, unresponsiveSince(node, now))
		}
	}
	for i := range enrollments {
		if record := &enrollments[i]; record.Spec.UsedBy != nil {
			pool.records[record.Name] = record
		}
	}
	pool.nodes = nodesToRemediate(object, rollout, pool, now)
	for i := range pool.nodes {
		if node := &pool.nodes[i]; node.NeedsPods(now) {
			if node.Terminating, err = r.terminatingPod(ctx, node.Name); err != nil {
				return nil, pool, fmt.Errorf("listing the pods of Node %s: %w", node.Name, err)
			}
		}
	}
	return object, pool, nil
}

// nodesToRemediate returns the states of the nodes that are enrolled in the NodePool, and of those with a record.
func nodesToRemediate(
	object *v1alpha1.NodeRemediation, rollout *v1alpha1.NodeRollout, pool remediationPool, now time.Time,
) []remediation.Node {
	var nodes []remediation.Node
	add := func(name string, record *v1alpha1.RemediatedNode) {
		one := remediation.Node{Name: name, IsMember: pool.records[name] != nil, Record: record}
		one.HasSlot = slices.ContainsFunc(rollout.Status.Slots, func(slot v1alpha1.UpgradeSlot) bool {
			return slot.Node == name
		})
		if node := pool.objects[name]; node != nil {
			ready := kube.NodeCondition(node, corev1.NodeReady)
			one.UID, one.Exists, one.IsReady = node.UID, true, kube.IsReady(node)
			one.IsUnresponsive = ready != nil && ready.Status == corev1.ConditionUnknown && ready.Reason == reasonUnresponsive
			one.IsUpgrading = node.Annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading)
			one.IsOutOfService = outOfServiceTaint(node) != ""
			one.HasOwnTaint = record != nil && slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
				return isTaintOf(*record, taint)
			})
			if one.IsUnresponsive {
				one.Since = unresponsiveSince(node, now)
			}
		}
		nodes = append(nodes, one)
	}
	for i := range object.Status.Remediated {
		add(object.Status.Remediated[i].Node, &object.Status.Remediated[i])
	}
	recorded := recordedNodes(object)
	for name := range pool.records {
		if pool.objects[name] != nil && !slices.Contains(recorded, name) {
			add(name, nil)
		}
	}
	return nodes
}

// reasonUnresponsive is the reason that kube-controller-manager writes to the conditions of a Node whose kubelet has
// stopped to renew its Lease. A Node whose kubelet has never reported has another one.
const reasonUnresponsive = "NodeStatusUnknown"

// unresponsiveSince returns when the condition Ready of a Node became Unknown, now if that is not recorded.
func unresponsiveSince(node *corev1.Node, now time.Time) time.Time {
	if since := kube.NodeCondition(node, corev1.NodeReady).LastTransitionTime; !since.IsZero() {
		return since.Time
	}
	return now
}

// policyOf returns the policy of a NodeRemediation.
func (r *remediationReconciler) policyOf(object *v1alpha1.NodeRemediation) remediation.Policy {
	policy := remediation.Policy{
		Action: object.Spec.Action, After: object.Spec.After.Duration,
		MaxUnhealthy:  ptr.Deref(object.Spec.MaxUnhealthy, intstr.FromInt32(1)),
		ObservedSince: r.since,
		WasBlocked:    remediation.IsOutage(blockedReason(object)),
	}
	if object.Status.NotBefore != nil {
		policy.NotBefore = object.Status.NotBefore.Time
	}
	return policy
}

// blockedReason returns the reason of the condition Blocked if it is True, else "".
func blockedReason(object *v1alpha1.NodeRemediation) string {
	blocked := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionBlocked)
	if blocked == nil || blocked.Status != metav1.ConditionTrue {
		return ""
	}
	return blocked.Reason
}

// recordRemediation writes a decision to the status of a NodeRemediation.
func recordRemediation(object *v1alpha1.NodeRemediation, decision remediation.Decision) {
	status := &object.Status
	status.ObservedGeneration = object.Generation
	status.Nodes = int32(decision.Nodes)         //nolint:gosec // the number of nodes of a cluster
	status.Unhealthy = int32(decision.Unhealthy) //nolint:gosec // the number of nodes of a cluster
	status.Waiting = report.Shorten(decision.Waiting, maxMessageLength)
	status.Remediated, status.NotBefore = decision.Records, nil
	if !decision.NotBefore.IsZero() {
		status.NotBefore = setTime(decision.NotBefore)
	}
	blocked := condition{metav1.ConditionFalse, "NotBlocked", ""}
	if decision.Blocked != "" {
		blocked = condition{metav1.ConditionTrue, decision.Blocked, status.Waiting}
	}
	remediating := condition{metav1.ConditionFalse, "NoNode", status.Waiting}
	if len(decision.Records) > 0 {
		names := strings.Join(recordedNodes(object), ", ")
		remediating = condition{metav1.ConditionTrue, "NodesRemediated", "remediated nodes: " + names}
	}
	for kind, value := range map[string]condition{
		v1alpha1.ConditionBlocked: blocked, v1alpha1.ConditionRemediating: remediating,
	} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value.status, Reason: value.reason,
			Message: report.Shorten(value.message, maxMessageLength), ObservedGeneration: object.Generation,
		})
	}
}

// recordedNodes returns the names of the nodes that are remediated.
func recordedNodes(object *v1alpha1.NodeRemediation) []string {
	return lists.Map(object.Status.Remediated, func(one v1alpha1.RemediatedNode) string { return one.Node })
}
