// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/remediation"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// outOfServiceValue is the value of the taint in the documentation of Kubernetes.
const outOfServiceValue = "nodeshutdown"

// taintOf returns the taint of a record. Its time distinguishes it from that of an administrator.
func taintOf(record v1alpha1.RemediatedNode) corev1.Taint {
	return corev1.Taint{
		Key: corev1.TaintNodeOutOfService, Value: outOfServiceValue, Effect: corev1.TaintEffectNoExecute,
		TimeAdded: record.At.DeepCopy(),
	}
}

// isTaintOf reports whether a taint is that of a record.
func isTaintOf(record v1alpha1.RemediatedNode, taint corev1.Taint) bool {
	want := taintOf(record)
	return taint.MatchTaint(&want) && taint.Value == want.Value && taint.TimeAdded != nil &&
		taint.TimeAdded.Equal(want.TimeAdded)
}

// outOfServiceTaint returns the taint out-of-service of a Node as text, "" if it has none.
func outOfServiceTaint(node *corev1.Node) string {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeOutOfService {
			return taint.ToString()
		}
	}
	return ""
}

// remediate does the action of a record with a Node, unless the Node has changed since it was read. It returns what was
// done.
func (r *remediationReconciler) remediate(
	ctx context.Context, node *corev1.Node, record v1alpha1.RemediatedNode,
) (string, error) {
	if record.Action == v1alpha1.RemediationDelete {
		if err := r.client.Delete(ctx, node, preconditionsOf(node)); err != nil {
			return "", fmt.Errorf("deleting the unresponsive Node %s: %w", node.Name, err)
		}
		return "the node is unresponsive: the Node is deleted", nil
	}
	taint := taintOf(record)
	tainted := node.DeepCopy()
	tainted.Spec.Taints = append(tainted.Spec.Taints, taint)
	if err := r.client.Patch(ctx, tainted, ifUnchanged(node)); err != nil {
		return "", fmt.Errorf("tainting the unresponsive Node %s: %w", node.Name, err)
	}
	return "the node is unresponsive: the Node gets the taint " + taint.ToString(), nil
}

// preconditionsOf lets the API server reject the deletion of a Node that has changed since it was read.
func preconditionsOf(node *corev1.Node) client.Preconditions {
	return client.Preconditions{UID: ptr.To(node.UID), ResourceVersion: ptr.To(node.ResourceVersion)}
}

// restore removes the taint of a record from a Node.
func (r *remediationReconciler) restore(
	ctx context.Context, node *corev1.Node, record v1alpha1.RemediatedNode,
) error {
	restored := node.DeepCopy()
	restored.Spec.Taints = slices.DeleteFunc(restored.Spec.Taints, func(taint corev1.Taint) bool {
		return isTaintOf(record, taint)
	})
	if err := r.client.Patch(ctx, restored, ifUnchanged(node)); err != nil {
		return fmt.Errorf("removing the taint %s from Node %s: %w", corev1.TaintNodeOutOfService, node.Name, err)
	}
	return nil
}

// findRecord returns the record of a node.
func findRecord(records []v1alpha1.RemediatedNode, node string) v1alpha1.RemediatedNode {
	at := slices.IndexFunc(records, func(one v1alpha1.RemediatedNode) bool { return one.Node == node })
	return records[at]
}

// checkRights blocks a decision that would act on a Node without the permissions that a remediation needs to its end. A
// taint that is set must also be removed, which needs the pods of the node.
func (r *remediationReconciler) checkRights(
	ctx context.Context, decision *remediation.Decision, object *v1alpha1.NodeRemediation, pool remediationPool,
) error {
	for _, name := range decision.Act {
		node := pool.objects[name]
		_, err := r.terminatingPod(ctx, name)
		if err == nil && findRecord(decision.Records, name).Action == v1alpha1.RemediationDelete {
			err = r.client.Delete(ctx, node, preconditionsOf(node), client.DryRunAll)
		}
		switch {
		case apierrors.IsForbidden(err):
			decision.Blocked = remediation.ReasonForbidden
			decision.Waiting = "a permission is missing, which deploy/hosted-remediation grants: " +
				report.EscapeLine(err.Error())
			decision.Records = slices.DeleteFunc(decision.Records, func(record v1alpha1.RemediatedNode) bool {
				return slices.Contains(decision.Begun, record.Node)
			})
			decision.Begun, decision.Act = nil, nil
			decision.Recheck = r.now().Add(rightsInterval)
			return nil
		case apierrors.IsConflict(err), apierrors.IsNotFound(err): // the action fails in the same way
		case err != nil:
			return fmt.Errorf("checking the permissions for the remediation of NodePool %s: %w", object.Name, err)
		}
	}
	return nil
}

// terminatingPod returns NAMESPACE/NAME of a pod that is terminating on a node, "" for none. It reads the API server,
// because pods are not in the cache.
func (r *remediationReconciler) terminatingPod(ctx context.Context, node string) (string, error) {
	var pods metav1.PartialObjectMetadataList
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := r.live.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			return pod.Namespace + "/" + pod.Name, nil
		}
	}
	return "", nil
}
