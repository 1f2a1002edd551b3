// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
)

// lostReconciler taints each Node that exists although it was removed as lost, so that no pods run on it. It removes
// the taint from all other Nodes.
type lostReconciler struct{ client client.Client }

func addLostController(m manager.Manager) error {
	r := &lostReconciler{client: m.GetClient()}
	return builder.ControllerManagedBy(m).Named("lost-nodes").
		For(&corev1.Node{}, builder.WithPredicates(taintChange)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(nodesOfList)).
		Complete(r)
}

// taintChange selects new Nodes, and those whose taints have changed.
var taintChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*corev1.Node), changed.ObjectNew.(*corev1.Node)
		return !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints)
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// nodesOfList returns the nodes in the list of lost nodes before or after a change.
func nodesOfList(_ context.Context, list client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for node := range list.(*corev1.ConfigMap).Data {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: node}})
	}
	return requests
}

// Reconcile sets or removes the taint of one Node.
func (r *lostReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := r.client.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	lost, err := lostnodes.Read(ctx, r.client)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the list of lost nodes: %w", err)
	}
	entry, isLost := lost[node.Name]
	taints := withLostTaint(node.Spec.Taints, isLost)
	if equality.Semantic.DeepEqual(node.Spec.Taints, taints) {
		return reconcile.Result{}, nil
	}
	desired := node.DeepCopy()
	desired.Spec.Taints = taints
	switch err := r.client.Patch(ctx, desired, ifUnchanged(node)); {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: recheckDelay}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("setting the taint %s of Node %s: %w", lostnodes.Taint, node.Name, err)
	}
	message := "removed the taint of a Node that is no longer lost"
	if isLost {
		message = "tainted a Node that exists although it was removed as lost"
	}
	log.FromContext(ctx).Info(message, "node", node.Name, "removed", entry)
	return reconcile.Result{}, nil
}

// withLostTaint returns the taints of a Node with the taint of lost nodes, or without it.
func withLostTaint(existing []corev1.Taint, isLost bool) []corev1.Taint {
	wanted := corev1.Taint{Key: lostnodes.Taint, Effect: corev1.TaintEffectNoExecute}
	isOther := func(taint corev1.Taint) bool { return taint.Key != wanted.Key }
	if !isLost {
		return slices.DeleteFunc(slices.Clone(existing), func(taint corev1.Taint) bool { return !isOther(taint) })
	}
	if slices.ContainsFunc(existing, func(taint corev1.Taint) bool { return taint.MatchTaint(&wanted) }) {
		return existing
	}
	return append(slices.Clone(existing), wanted)
}
