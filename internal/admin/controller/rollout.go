// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rolloutReconciler decides which nodes of a NodePool may be upgraded, by its NodeRollout.
//
// The status of the NodeRollout contains all slots of the NodePool. It is read from the API server, and written only if
// it has not changed since, so that neither a restart nor two replicas at work give more slots than are allowed.
//
// The same holds for the permissions, the annotations of the Nodes, with caches of any age. A slot is delivered to its
// Node once, and ends in three writes: the permission is revoked at the Node, where the ID of the slot remains; the
// slot is removed from the status; the ID is removed from the Node. A replica reads the Node before the status, and
// writes it only if it has not changed since. So it neither delivers a slot again that another replica has ended, nor
// revokes that of a node which has begun.
type rolloutReconciler struct {
	client client.Client // reads the cache
	live   client.Reader // reads the API server
	events events.EventRecorder
}

func addRolloutController(m manager.Manager) error {
	r := &rolloutReconciler{client: m.GetClient(), live: m.GetAPIReader(), events: m.GetEventRecorder(EventSource)}
	return builder.ControllerManagedBy(m).Named("rollout").
		For(&v1alpha1.NodeRollout{}).
		Watches(&v1alpha1.NodeEnrollment{}, delayed(decisionDelay, enrolledPool), builder.WithPredicates(memberChange)).
		Watches(&corev1.Node{}, delayed(decisionDelay, r.nodePoolOf), builder.WithPredicates(progressChange)).
		WatchesMetadata(&corev1.Secret{}, atOnce(labeledPool)).
		Complete(r)
}

// leftInterval is the time between two decisions while nodes that have left the NodePool have a slot.
const leftInterval = time.Minute

// decisionDelay combines the changes of many nodes: each decision reads all nodes of the NodePool.
const decisionDelay = time.Second

// memberChange selects the changes of a NodeEnrollment that change the members of a NodePool,
// or which of them are canaries.
var memberChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*v1alpha1.NodeEnrollment), changed.ObjectNew.(*v1alpha1.NodeEnrollment)
		return before.Spec.NodePool != after.Spec.NodePool || (before.Spec.UsedBy == nil) != (after.Spec.UsedBy == nil) ||
			!maps.Equal(before.Spec.Labels, after.Spec.Labels)
	},
}

// progressChange selects the changes of a Node on which a rollout depends. The regular reports of agents and kubelets
// change nothing else.
var progressChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*corev1.Node), changed.ObjectNew.(*corev1.Node)
		return isAvailable(before) != isAvailable(after) ||
			slices.ContainsFunc(progressAnnotations, func(key string) bool {
				return before.Annotations[key] != after.Annotations[key]
			})
	},
}

// progressAnnotations are the annotations of a Node on which a rollout depends, or which it writes.
var progressAnnotations = []string{
	v1alpha1.AnnotationUserData, v1alpha1.AnnotationNextConfig, v1alpha1.AnnotationDesiredConfig, v1alpha1.AnnotationSlot,
	v1alpha1.AnnotationState, v1alpha1.AnnotationCurrentConfig, v1alpha1.AnnotationFailedSlot, v1alpha1.AnnotationFailure,
	v1alpha1.AnnotationBlocked,
}

// nodePoolOf returns the NodePool of a Node.
func (r *rolloutReconciler) nodePoolOf(ctx context.Context, node client.Object) string {
	record := &v1alpha1.NodeEnrollment{}
	err := r.client.Get(ctx, client.ObjectKey{Name: node.GetName()}, record, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil { // the controller ends: otherwise the cache can be read
		log.FromContext(ctx).Error(err, "getting the enrollment of a node", "node", node.GetName())
	}
	return record.Spec.NodePool
}

// Reconcile ends and gives slots of one NodePool.
func (r *rolloutReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	members, err := r.members(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	object := &v1alpha1.NodeRollout{}
	switch err := r.live.Get(ctx, request.NamespacedName, object); {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, r.permit(ctx, members, offer{}, nil, nil)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("getting the NodeRollout: %w", err)
	}
	if object.Status.Config == "" && len(object.Status.Slots) == 0 { // a new object, or one restored without its status
		if slots := deliveredSlots(members, time.Now()); len(slots) > 0 {
			return reconcile.Result{RequeueAfter: recheckDelay}, r.recordSlots(ctx, object, slots)
		}
	}
	left, err := r.leftMembers(ctx, object.Status.Slots, members)
	if err != nil {
		return reconcile.Result{}, err
	}
	secret, err := publishedSecret(ctx, r.client, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	c := &clock{now: time.Now()}
	pool := poolOf(object, secret, c)
	members = append(members, left...)
	decision, err := r.decide(ctx, object, pool, members, c.now)
	c.hasReached(decision.Recheck) // records it, unless it is zero
	if len(left) > 0 {
		c.hasReached(c.now.Add(leftInterval)) // their changes request nothing
	}
	decision.Waiting = addProblem(decision.Waiting, secret)
	if err == nil {
		err = r.apply(ctx, object, pool, decision, members, c.now)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err): // an object has changed
		return reconcile.Result{RequeueAfter: recheckDelay}, nil
	case err != nil || c.next.IsZero():
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(c.untilNext(), time.Second)}, nil
}

// apply writes a decision. The permission of a node is removed before its slot ends, and written after its slot was
// recorded: each permission is counted. The configuration that a node has reached is recorded before its slot ends: a
// replica that reads the end reads the record, too.
func (r *rolloutReconciler) apply(
	ctx context.Context, object *v1alpha1.NodeRollout, pool rollout.Pool, decision rollout.Decision, members []member,
	now time.Time,
) error {
	if err := r.recordReached(ctx, object, pool, members); err != nil {
		return err
	}
	updated := object.DeepCopy()
	updated.Status.Slots = remainingSlots(object.Status.Slots, decision.Ended, members)
	offered := offer{
		secret: v1alpha1.UserDataSecret(object.Name), config: pool.Config, allowMajor: object.Spec.AllowMajor,
	}
	ended := sets.New(lists.Map(decision.Ended, func(end rollout.Outcome) string { return end.Node })...)
	if err := r.permit(ctx, members, offered, object.Status.Slots, ended); err != nil {
		return err
	}
	recordDecision(updated, pool, decision, members, now)
	if equality.Semantic.DeepEqual(object.Status, updated.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, updated, ifUnchanged(object)); err != nil {
		return fmt.Errorf("recording the slots of NodePool %s: %w", object.Name, err)
	}
	r.report(ctx, updated, decision, members)
	if err := r.recordReached(ctx, updated, pool, members); err != nil {
		return err
	}
	return r.permit(ctx, members, offered, updated.Status.Slots, nil)
}

// report logs the ends and begins of slots, and records Events about them at the NodeEnrollments.
func (r *rolloutReconciler) report(
	ctx context.Context, object *v1alpha1.NodeRollout, decision rollout.Decision, members []member,
) {
	records := map[string]*v1alpha1.NodeEnrollment{}
	for _, member := range members {
		records[member.node.Name] = member.record
	}
	emit := func(node, kind, reason, note string) {
		log.FromContext(ctx).Info(note, "node", node)
		if record := records[node]; record != nil {
			r.events.Eventf(record, object, kind, reason, "Upgrade", "%s", report.Shorten(note, maxNoteLength))
		}
	}
	for _, end := range decision.Ended {
		switch {
		case end.Withdrawn != "":
			emit(end.Node, corev1.EventTypeNormal, "UpgradeWithdrawn",
				"the permission to upgrade to configuration "+end.Config+" is withdrawn: "+end.Withdrawn)
		case end.Failure != "":
			emit(end.Node, corev1.EventTypeWarning, "UpgradeFailed",
				"the upgrade to configuration "+end.Config+" failed: "+end.Failure)
		default:
			emit(end.Node, corev1.EventTypeNormal, "UpgradeCompleted", "upgraded to configuration "+end.Config)
		}
	}
	for _, node := range decision.Grants {
		emit(node, corev1.EventTypeNormal, "UpgradePermitted",
			"may be upgraded to configuration "+object.Status.Config)
	}
}
