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
	desired := node.DeepCopy()
	addSettings(desired, record.Spec)
	if equality.Semantic.DeepEqual(node, desired) {
		return reconcile.Result{}, nil
	}
	err := r.client.Patch(ctx, desired, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: recheckDelay}, nil
	case apierrors.IsInvalid(err): // until the NodeEnrollment is changed
		r.events.Eventf(record, node, corev1.EventTypeWarning, "SettingsRejected", "Label", "%s",
			report.Shorten("the labels and taints are not set: "+err.Error(), maxNoteLength))
		return reconcile.Result{}, reconcile.TerminalError(err)
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("setting the labels and taints of Node %s: %w", node.Name, err)
	}
	return reconcile.Result{}, nil
}

// addSettings adds the labels and taints of an enrollment to a Node.
func addSettings(node *corev1.Node, spec v1alpha1.NodeEnrollmentSpec) {
	for key, value := range spec.Labels {
		metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
	}
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
