// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
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

// nodeSettingsReconciler sets the labels and taints of a NodeEnrollment on its Node, and removes those that it has set
// and that the NodeEnrollment no longer contains. Labels and taints of others remain.
//
// The API server records by field owner which labels were applied. The taints of a Node are one field, so the status of
// the NodeEnrollment contains those that were set.
type nodeSettingsReconciler struct {
	client client.Client
	events events.EventRecorder
}

// labelOwner is the field owner of the labels.
const labelOwner = "hcp-node-admin-labels"

func addNodeSettingsController(m manager.Manager) error {
	return builder.ControllerManagedBy(m).Named("node-settings").
		For(&v1alpha1.NodeEnrollment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}). // a Node and its enrollment have the same name
		Complete(&nodeSettingsReconciler{client: m.GetClient(), events: m.GetEventRecorder(EventSource)})
}

// Reconcile sets the taints and labels of one Node. The taints come first, in a write of their own: what the API server
// rejects of the labels must not open the node to pods. A change by others at the same time is a conflict, after which
// they are set again.
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
	var rejected error
	for _, set := range []func(context.Context, *v1alpha1.NodeEnrollment, *corev1.Node) error{r.setTaints, r.setLabels} {
		err := set(ctx, record, node)
		switch {
		case apierrors.IsConflict(err):
			return reconcile.Result{RequeueAfter: recheckDelay}, nil
		case apierrors.IsInvalid(err): // until the NodeEnrollment is changed
			r.events.Eventf(record, node, corev1.EventTypeWarning, "SettingsRejected", "Label", "%s",
				report.Shorten("the labels and taints are not set: "+err.Error(), maxNoteLength))
			rejected = reconcile.TerminalError(err)
		case client.IgnoreNotFound(err) != nil:
			return reconcile.Result{}, fmt.Errorf("setting the labels and taints of Node %s: %w", node.Name, err)
		}
	}
	return reconcile.Result{}, rejected
}

// setLabels applies the labels of an enrollment to its Node.
func (r *nodeSettingsReconciler) setLabels(
	ctx context.Context, record *v1alpha1.NodeEnrollment, node *corev1.Node,
) error {
	current := map[string]string{}
	for key := range appliedLabels(node) {
		current[key] = node.Labels[key]
	}
	if maps.Equal(current, record.Spec.Labels) {
		return nil
	}
	// Without the UID, the API server would create a Node that was deleted meanwhile.
	desired := corev1apply.Node(node.Name).WithUID(node.UID).WithLabels(record.Spec.Labels)
	return r.client.Apply(ctx, desired, client.FieldOwner(labelOwner), client.ForceOwnership)
}

// setTaints sets the taints of an enrollment on its Node. Those that it adds are recorded before: otherwise a
// controller that is stopped between both writes could not remove them later.
func (r *nodeSettingsReconciler) setTaints(
	ctx context.Context, record *v1alpha1.NodeEnrollment, node *corev1.Node,
) error {
	taints, applied, removed := withTaints(node.Spec.Taints, record.Spec.Taints, record.Status.AppliedTaints)
	if err := r.recordTaints(ctx, record, append(applied, removed...)); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(node.Spec.Taints, taints) {
		desired := node.DeepCopy()
		desired.Spec.Taints = taints
		if err := r.client.Patch(ctx, desired, ifUnchanged(node)); err != nil {
			return err
		}
	}
	return r.recordTaints(ctx, record, applied)
}

// recordTaints writes the taints that are set, or about to be set, to the status of an enrollment.
func (r *nodeSettingsReconciler) recordTaints(
	ctx context.Context, record *v1alpha1.NodeEnrollment, taints []v1alpha1.NodeTaint,
) error {
	if equality.Semantic.DeepEqual(record.Status.AppliedTaints, taints) {
		return nil
	}
	before := record.DeepCopy()
	record.Status.AppliedTaints = taints
	return r.client.Status().Patch(ctx, record, ifUnchanged(before))
}
