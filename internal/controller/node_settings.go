// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodeSettingsReconciler sets the labels and taints of NodeEnrollments on their Nodes.
type nodeSettingsReconciler struct {
	client client.Client
	events events.EventRecorder
}

func addNodeSettingsController(m manager.Manager) error {
	return builder.ControllerManagedBy(m).Named("node-settings").
		For(&v1alpha1.NodeEnrollment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}). // a Node and its enrollment have the same name
		Complete(&nodeSettingsReconciler{client: m.GetClient(), events: m.GetEventRecorder(EventSource)})
}

// Reconcile sets the labels and taints of one Node. A change of the taints by others at the same time is a conflict,
// after which the taints are set again.
func (r *nodeSettingsReconciler) Reconcile(
	ctx context.Context, request reconcile.Request,
) (reconcile.Result, error) {
	record, node := &v1alpha1.NodeEnrollment{}, &corev1.Node{}
	if err := r.client.Get(ctx, request.NamespacedName, record); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.client.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	// The taints come first, in a write of their own: what the API server rejects of the labels must not open the node
	// to pods.
	var rejected error
	for _, add := range []func(*corev1.Node, v1alpha1.NodeEnrollmentSpec){addTaints, addLabels} {
		desired := node.DeepCopy()
		add(desired, record.Spec)
		if equality.Semantic.DeepEqual(node, desired) {
			continue
		}
		err := r.client.Patch(ctx, desired, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
		switch {
		case apierrors.IsConflict(err):
			return reconcile.Result{RequeueAfter: recheckDelay}, nil
		case apierrors.IsInvalid(err): // until the NodeEnrollment is changed
			r.events.Eventf(record, node, corev1.EventTypeWarning, "SettingsRejected", "Label", "%s",
				report.Shorten("the labels and taints are not set: "+err.Error(), maxNoteLength))
			rejected = reconcile.TerminalError(err)
			continue
		case client.IgnoreNotFound(err) != nil:
			return reconcile.Result{}, fmt.Errorf("setting the labels and taints of Node %s: %w", node.Name, err)
		}
		node = desired
	}
	return reconcile.Result{}, rejected
}

// addLabels adds the labels of an enrollment to a Node.
func addLabels(node *corev1.Node, spec v1alpha1.NodeEnrollmentSpec) {
	for key, value := range spec.Labels {
		metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
	}
}

// addTaints adds the taints of an enrollment to a Node.
func addTaints(node *corev1.Node, spec v1alpha1.NodeEnrollmentSpec) {
	for _, taint := range spec.Taints {
		wanted := corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}
		isSet := false
		for i := range node.Spec.Taints {
			if one := &node.Spec.Taints[i]; one.MatchTaint(&wanted) {
				one.Value, isSet = wanted.Value, true
			}
		}
		if !isSet {
			node.Spec.Taints = append(node.Spec.Taints, wanted)
		}
	}
}
