// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// EventSource is the source of the Events.
const EventSource = v1alpha1.EventSource

// statusReconciler writes the state of each node to the status of its NodeEnrollment.
type statusReconciler struct {
	client client.Client
	events events.EventRecorder
	now    func() time.Time
}

func addStatusController(m manager.Manager) error {
	r := &statusReconciler{client: m.GetClient(), events: m.GetEventRecorder(EventSource), now: time.Now}
	return builder.ControllerManagedBy(m).Named("status").
		For(&v1alpha1.NodeEnrollment{}).
		Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}). // a Node and its enrollment have the same name
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.enrollmentsOf)).
		Complete(r)
}

// enrollmentsOf returns the NodeEnrollments of the NodePool of a Secret with user data.
func (r *statusReconciler) enrollmentsOf(ctx context.Context, secret client.Object) []reconcile.Request {
	records, err := enrollmentsOfPool(ctx, r.client, v1alpha1.PublishedNodePool(secret))
	if err != nil { // the controller ends: otherwise the cache can be read
		log.FromContext(ctx).Error(err, "reading the enrollments to update")
	}
	return lists.Map(records, func(record v1alpha1.NodeEnrollment) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: record.Name}}
	})
}

// Reconcile updates the status of one NodeEnrollment.
func (r *statusReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &v1alpha1.NodeEnrollment{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	node := &corev1.Node{}
	err := r.client.Get(ctx, request.NamespacedName, node)
	switch {
	case apierrors.IsNotFound(err):
		node = nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("getting Node %s: %w", request.Name, err)
	}
	var published *metav1.PartialObjectMetadata
	if object.Spec.NodePool != "" {
		if published, err = publishedSecret(ctx, r.client, object.Spec.NodePool); err != nil {
			return reconcile.Result{}, err
		}
	}
	c := &clock{now: r.now()}
	updated := object.DeepCopy()
	updated.Status = observe(object, node, published, c)
	if !equality.Semantic.DeepEqual(object.Status, updated.Status) {
		// The new status depends on the last one, and an object of the cache can be older than that.
		err := r.client.Status().Patch(ctx, updated, ifUnchanged(object))
		switch {
		case apierrors.IsConflict(err):
			return reconcile.Result{RequeueAfter: recheckDelay}, nil
		case err != nil:
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		r.reportPhase(object, updated)
	}
	return reconcile.Result{RequeueAfter: c.untilNext()}, nil
}

// reportPhase records an Event about a new phase.
func (r *statusReconciler) reportPhase(before, after *v1alpha1.NodeEnrollment) {
	phase := after.Status.Phase
	if before.Status.Phase == phase {
		return
	}
	kind := corev1.EventTypeNormal
	if slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseFailed, v1alpha1.PhaseLost, v1alpha1.PhaseDegraded}, phase) {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(after, nil, kind, "Node"+string(phase), "Observe", "%s",
		report.Shorten(cmp.Or(after.Status.Reason, "the node is "+string(phase)), maxNoteLength))
}

// observe returns the status of an enrollment. A nil node does not exist; published is the metadata of the Secret with
// the user data of its NodePool, nil if there is none. All comparisons with the current
// time are those of the clock.
func observe(
	object *v1alpha1.NodeEnrollment, node *corev1.Node, published *metav1.PartialObjectMetadata, c *clock,
) v1alpha1.NodeEnrollmentStatus {
	status := *object.Status.DeepCopy()
	reported := reportOf(node)
	status.Phase, status.Reason = phaseOf(object, node, reported, c)
	set := func(kind string, value condition) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value.status, Reason: value.reason, Message: value.message,
			ObservedGeneration: object.Generation,
		})
	}
	if used := object.Spec.UsedBy; used == nil {
		set(v1alpha1.ConditionEnrolled, condition{metav1.ConditionFalse, "TokenUnused", "no host has used the join token"})
	} else {
		set(v1alpha1.ConditionEnrolled, condition{
			metav1.ConditionTrue, "TokenUsed", "the join token was used with the key " + used.Key,
		})
	}
	switch {
	case node != nil:
		status.MachineID = report.Shorten(node.Status.NodeInfo.MachineID, maxMachineIDLength)
		set(v1alpha1.ConditionJoined, condition{metav1.ConditionTrue, "NodeExists", ""})
		set(v1alpha1.ConditionReady, readiness(node))
		copyReport(&status, reported, c)
	case hasJoined(object):
		deleted := condition{metav1.ConditionFalse, reasonNodeDeleted, "the Node was deleted"}
		set(v1alpha1.ConditionJoined, deleted)
		set(v1alpha1.ConditionReady, deleted)
	default:
		absent := condition{metav1.ConditionFalse, "NoNode", "the Node does not exist"}
		set(v1alpha1.ConditionJoined, absent)
		set(v1alpha1.ConditionReady, absent)
	}
	set(v1alpha1.ConditionUpToDate, reported.upToDate(published))
	set(v1alpha1.ConditionDrifted, reported.drift())
	set(v1alpha1.ConditionCertificateExpiring, reported.expiring(c))
	return status
}

// reasonNodeDeleted is the reason of the conditions after the Node was deleted.
const reasonNodeDeleted = "NodeDeleted"

// hasJoined reports whether the Node of an enrollment existed when its status was written, or before.
func hasJoined(object *v1alpha1.NodeEnrollment) bool {
	joined := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionJoined)
	return joined != nil && (joined.Status == metav1.ConditionTrue || joined.Reason == reasonNodeDeleted)
}

// phaseOf returns the phase and its reason.
func phaseOf(
	object *v1alpha1.NodeEnrollment, node *corev1.Node, reported agentReport, c *clock,
) (v1alpha1.Phase, string) {
	if _, err := enrollment.FromObject(object); err != nil {
		return v1alpha1.PhaseFailed, "the enrollment is invalid: " + err.Error()
	}
	if node == nil {
		switch {
		case hasJoined(object):
			return v1alpha1.PhaseLost, "the Node was deleted"
		case object.Spec.UsedBy != nil:
			return v1alpha1.PhaseEnrolled, "the host has used the join token; its Node does not exist yet"
		case c.hasReached(object.Spec.Expires.Time):
			return v1alpha1.PhaseFailed, "the join token has expired"
		}
		return v1alpha1.PhasePending, "no host has used the join token"
	}
	ready := readiness(node)
	cause := cmp.Or(reported.diagnosis(c), ready.message)
	conditions, phase := object.Status.Conditions, object.Status.Phase
	wasReady := meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) ||
		meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionJoined) &&
			(phase == v1alpha1.PhaseFailed || phase == v1alpha1.PhaseLost || phase == v1alpha1.PhaseUpgrading)
	switch {
	case ready.status == metav1.ConditionTrue:
		phase, reason := reported.phaseOfReady(c)
		return phase, withOutOfService(node, reason)
	case reported.isUpgradeOutage(node, c):
		return v1alpha1.PhaseUpgrading, cmp.Or(reported.reason, ready.message)
	case ready.status == metav1.ConditionUnknown:
		return v1alpha1.PhaseLost, withOutOfService(node, cause)
	case wasReady:
		return v1alpha1.PhaseFailed, cause
	}
	return v1alpha1.PhaseJoined, cause
}

// withOutOfService returns the reason of a phase, after the taint out-of-service if the Node has it.
func withOutOfService(node *corev1.Node, reason string) string {
	if outOfServiceTaint(node) == "" {
		return reason
	}
	return report.Shorten(strings.TrimSuffix("taint out-of-service: "+reason, ": "), maxMessageLength)
}

// Limits of the texts of a Node that are copied. A user of the node's credential can write any.
const (
	maxMachineIDLength = 64
	maxMessageLength   = 1024
)

// conditionReason matches the reasons that the API server accepts in a condition.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,254}[A-Za-z0-9_])?$`)

// readiness returns the condition Ready of a Node, with a reason and a message that the API server accepts.
func readiness(node *corev1.Node) condition {
	ready := kube.NodeCondition(node, corev1.NodeReady)
	if ready == nil {
		return condition{metav1.ConditionFalse, "NoReport", "kubelet has not reported yet"}
	}
	result := condition{metav1.ConditionFalse, "NodeNotReady", report.Shorten(ready.Message, maxMessageLength)}
	switch ready.Status {
	case corev1.ConditionTrue:
		result.status, result.reason = metav1.ConditionTrue, "NodeReady"
	case corev1.ConditionUnknown:
		result.status, result.reason = metav1.ConditionUnknown, "NodeStatusUnknown"
	}
	if conditionReason.MatchString(ready.Reason) {
		result.reason = ready.Reason
	}
	return result
}
