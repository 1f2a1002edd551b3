// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/remediation"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// remediationReconciler acts on unresponsive nodes of a NodePool, by its NodeRemediation.
//
// The status of the NodeRemediation contains all nodes that are remediated. It is written before a Node is changed, and
// only if it has not changed since it was read, so that neither a restart nor two replicas at work remediate more nodes
// than are allowed. A decision with consequences reads the Nodes and then the status from the API server, and changes a
// Node only if the Node has not changed since: a node that is responsive again in the meantime is not remediated, and a
// record that another replica has ended is not acted on.
type remediationReconciler struct {
	client client.Client // reads the cache
	live   client.Reader // reads the API server
	events events.EventRecorder
	now    func() time.Time
	since  time.Time // since when the nodes are observed; zero before the first decision
}

func addRemediationController(m manager.Manager) error {
	r := &remediationReconciler{
		client: m.GetClient(), live: m.GetAPIReader(), events: m.GetEventRecorder(EventSource), now: time.Now,
	}
	return r.addTo(m)
}

func (r *remediationReconciler) addTo(m manager.Manager) error {
	return builder.ControllerManagedBy(m).Named("remediation").
		For(&v1alpha1.NodeRemediation{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NodeEnrollment{}, delayed(decisionDelay, enrolledPool), builder.WithPredicates(memberChange)).
		Watches(&v1alpha1.NodeRollout{}, delayed(decisionDelay, nameOf), builder.WithPredicates(slotChange)).
		Watches(&corev1.Node{}, r.afterNodeChange(), builder.WithPredicates(responseChange)).
		Complete(r)
}

// nameOf returns the NodePool of an object that has its name.
func nameOf(_ context.Context, object client.Object) string { return object.GetName() }

// slotChange selects the changes of a NodeRollout on which a remediation depends.
var slotChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*v1alpha1.NodeRollout), changed.ObjectNew.(*v1alpha1.NodeRollout)
		return !equality.Semantic.DeepEqual(before.Status.Slots, after.Status.Slots)
	},
}

// responseChange selects the changes of a Node on which a remediation depends.
var responseChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*corev1.Node), changed.ObjectNew.(*corev1.Node)
		return before.UID != after.UID || readyStatus(before) != readyStatus(after) ||
			outOfServiceTaint(before) != outOfServiceTaint(after) ||
			before.Annotations[v1alpha1.AnnotationState] != after.Annotations[v1alpha1.AnnotationState]
	},
}

// readyStatus returns the status of the condition Ready, "" if kubelet has not reported yet.
func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	if ready := kube.NodeCondition(node, corev1.NodeReady); ready != nil {
		return ready.Status
	}
	return ""
}

// afterNodeChange requests all NodeRemediations, because an outage of any Nodes can prevent a remediation. A delay
// combines the changes of many Nodes.
func (r *remediationReconciler) afterNodeChange() handler.EventHandler {
	enqueue := func(ctx context.Context, queue requestQueue) {
		var list v1alpha1.NodeRemediationList
		if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil { // the controller ends
			log.FromContext(ctx).Error(err, "listing the NodeRemediations")
		}
		for i := range list.Items {
			name := types.NamespacedName{Name: list.Items[i].Name}
			queue.AddAfter(reconcile.Request{NamespacedName: name}, decisionDelay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, queue requestQueue) { enqueue(ctx, queue) },
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, queue requestQueue) { enqueue(ctx, queue) },
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, queue requestQueue) { enqueue(ctx, queue) },
	}
}

// Reconcile decides about the nodes of one NodePool. A decision that changes no record and no Node, and neither begins
// nor ends an outage, uses the cache.
func (r *remediationReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	c := &clock{now: r.now()}
	if r.since.IsZero() {
		r.since = c.now
	}
	for _, isLive := range []bool{false, true} {
		reader := client.Reader(r.client)
		if isLive {
			reader = r.live
		}
		object, pool, err := r.gather(ctx, reader, request.Name, c.now)
		if err != nil || object == nil {
			return reconcile.Result{}, err
		}
		decision := remediation.Decide(r.policyOf(object), pool.nodes, pool.cluster, c.now)
		hasConsequences := len(decision.Act)+len(decision.Restore) > 0 || decision.Blocked != blockedReason(object) ||
			!equality.Semantic.DeepEqual(decision.Records, object.Status.Remediated)
		if hasConsequences && !isLive {
			continue
		}
		if err := r.checkRights(ctx, &decision, object, pool); err != nil {
			return reconcile.Result{}, err
		}
		err = r.apply(ctx, object, decision, pool)
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err): // an object has changed
			return reconcile.Result{RequeueAfter: recheckDelay}, nil
		case err != nil:
			return reconcile.Result{}, err
		}
		if len(decision.Act)+len(decision.Restore) > 0 {
			return reconcile.Result{RequeueAfter: decisionDelay}, nil
		}
		if !decision.Recheck.IsZero() && !c.hasReached(decision.Recheck) {
			return reconcile.Result{RequeueAfter: max(c.untilNext(), time.Second)}, nil
		}
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, nil
}

// apply writes a decision to the status, and then does its actions.
func (r *remediationReconciler) apply(
	ctx context.Context, object *v1alpha1.NodeRemediation, decision remediation.Decision, pool remediationPool,
) error {
	updated := object.DeepCopy()
	recordRemediation(updated, decision)
	if !equality.Semantic.DeepEqual(object.Status, updated.Status) {
		if err := r.client.Status().Patch(ctx, updated, ifUnchanged(object)); err != nil {
			return fmt.Errorf("recording the remediated nodes of NodePool %s: %w", object.Name, err)
		}
		r.report(ctx, object, updated, decision, pool)
	}
	var failed []error
	for _, name := range decision.Act {
		node := pool.objects[name]
		record := findRecord(decision.Records, name)
		note, err := r.remediate(ctx, node, record)
		if err == nil {
			r.emit(ctx, updated, pool, name, corev1.EventTypeWarning, "NodeRemediated", note)
		}
		failed = append(failed, err)
	}
	for _, name := range decision.Restore {
		failed = append(failed, r.restore(ctx, pool.objects[name], findRecord(decision.Records, name)))
	}
	return firstProblem(failed)
}

// firstProblem returns the error that is no conflict with a change of another program, else a conflict.
func firstProblem(failed []error) error {
	var conflict error
	var others []error
	for _, err := range failed {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			conflict = cmp.Or(conflict, err)
		} else {
			others = append(others, err)
		}
	}
	return cmp.Or(errors.Join(others...), conflict)
}

// report records Events about the records that have ended, and about a new reason that blocks.
func (r *remediationReconciler) report(
	ctx context.Context, before, after *v1alpha1.NodeRemediation, decision remediation.Decision, pool remediationPool,
) {
	for _, end := range decision.Ended {
		r.emit(ctx, after, pool, end.Node, corev1.EventTypeNormal, "RemediationEnded", end.Cause)
	}
	if decision.Blocked != "" && decision.Blocked != blockedReason(before) {
		log.FromContext(ctx).Info(decision.Waiting, "reason", decision.Blocked)
		r.events.Eventf(after, nil, corev1.EventTypeWarning, "RemediationBlocked", "Remediate", "%s",
			report.Shorten(decision.Waiting, maxNoteLength))
	}
}

// emit logs a note about a node, and records an Event at its NodeEnrollment.
func (r *remediationReconciler) emit(
	ctx context.Context, object *v1alpha1.NodeRemediation, pool remediationPool, node, kind, reason, note string,
) {
	log.FromContext(ctx).Info(note, "node", node)
	if record := pool.records[node]; record != nil {
		r.events.Eventf(record, object, kind, reason, "Remediate", "%s", report.Shorten(note, maxNoteLength))
	}
}
