// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// member is a node of a NodePool that has joined. The objects are shallow copies of those in the cache: a field may be
// replaced, but no map, slice or pointed-to value changed. Deep copies of all nodes for each decision would take the
// most time in a large NodePool.
type member struct {
	record *v1alpha1.NodeEnrollment // nil for a node that has left the NodePool, but has a slot
	node   *corev1.Node             // read before the status of the NodeRollout
	latest *corev1.Node             // read after it, for what the node reports; nil if node is recent enough
}

// enrollmentsOfPool returns shallow copies of the NodeEnrollments of a NodePool in the cache.
func enrollmentsOfPool(
	ctx context.Context, reader client.Reader, nodePool string,
) ([]v1alpha1.NodeEnrollment, error) {
	var records v1alpha1.NodeEnrollmentList
	err := reader.List(ctx, &records, client.MatchingFields{nodePoolIndex: nodePool}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the enrollments of NodePool %s: %w", nodePool, err)
	}
	return records.Items, nil
}

// members returns the nodes of a NodePool that have joined, from the cache.
func (r *rolloutReconciler) members(ctx context.Context, nodePool string) ([]member, error) {
	records, err := enrollmentsOfPool(ctx, r.client, nodePool)
	if err != nil {
		return nil, err
	}
	var members []member
	for i := range records {
		record, node := &records[i], &corev1.Node{}
		if record.Spec.UsedBy == nil {
			continue
		}
		err := r.client.Get(ctx, client.ObjectKeyFromObject(record), node, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("getting Node %s: %w", record.Name, err)
		}
		members = append(members, member{record: record, node: node})
	}
	return members, nil
}

// leftMembers returns the nodes that have a slot and are not among the members, because their enrollment was deleted or
// the cache does not have it yet. It reads the API server: the slot of a Node counts as long as the Node exists.
func (r *rolloutReconciler) leftMembers(
	ctx context.Context, slots []v1alpha1.UpgradeSlot, members []member,
) ([]member, error) {
	known := sets.New(lists.Map(members, func(one member) string { return one.node.Name })...)
	var left []member
	for _, slot := range slots {
		if known.Has(slot.Node) {
			continue
		}
		node := &corev1.Node{}
		switch err := r.live.Get(ctx, client.ObjectKey{Name: slot.Node}, node); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("getting Node %s: %w", slot.Node, err)
		default:
			left = append(left, member{node: node})
		}
	}
	return left, nil
}

// publishedSecret returns the metadata of the Secret with the user data of a NodePool, nil if it does not exist.
func publishedSecret(
	ctx context.Context, reader client.Reader, nodePool string,
) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(nodePool)}
	if err := reader.Get(ctx, key, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil //nolint:nilnil // not published
		}
		return nil, fmt.Errorf("getting the user data of NodePool %s: %w", nodePool, err)
	}
	return secret, nil
}

// poolOf returns what a NodeRollout and the published user data demand. Without valid limits no slot is given.
func poolOf(object *v1alpha1.NodeRollout, secret *metav1.PartialObjectMetadata, c *clock) rollout.Pool {
	pool := rollout.Pool{
		MaxUnavailable: intstr.FromInt32(1),
		MaxFailures:    int(object.Spec.MaxFailures),
	}
	if object.Spec.SlotTimeout != nil {
		pool.SlotTimeout = object.Spec.SlotTimeout.Duration
	}
	if secret == nil {
		pool.Config, pool.Release = object.Status.Config, object.Status.Release
		pool.Blocked = "the user data of the NodePool is not published"
		return pool
	}
	published := v1alpha1.StateOfPublished(secret)
	pool.Config, pool.Release = published.Config, published.Release
	if published.MaxUnavailable != "" {
		pool.MaxUnavailable = intstr.Parse(published.MaxUnavailable)
	}
	if object.Spec.MaxUnavailable != nil {
		pool.MaxUnavailable = *object.Spec.MaxUnavailable
	}
	pool.IsPaused = object.Spec.Paused || published.Paused != ""
	switch {
	case object.Spec.Paused:
		pool.Blocked = "the NodeRollout is paused"
	case published.Paused != "":
		pool.Blocked = "the NodePool is paused: " + published.Paused
	case pool.Config == "":
		pool.Blocked = "the published user data has no configuration hash"
	case !published.Expires.IsZero() && c.hasReached(published.Expires):
		pool.Blocked = "the published user data has expired: the publisher is not running, or cannot read newer user data: " +
			cmp.Or(published.Problem, "see its log")
	}
	var err error
	if pool.Window, err = rollout.WindowOf(object.Spec); err != nil {
		pool.Blocked = cmp.Or(pool.Blocked, err.Error())
	}
	if _, err = metav1.LabelSelectorAsSelector(object.Spec.Canary); err != nil {
		pool.Blocked = cmp.Or(pool.Blocked, "canary: "+err.Error())
	}
	return pool
}

// addProblem adds the problem that prevents the publication of newer user data to what a rollout waits for.
func addProblem(waiting string, secret *metav1.PartialObjectMetadata) string {
	if secret == nil {
		return waiting
	}
	problem := v1alpha1.StateOfPublished(secret).Problem
	if problem == "" || strings.Contains(waiting, problem) {
		return waiting
	}
	return strings.TrimPrefix(waiting+"; newer user data is not published: "+problem, "; ")
}

// nodesOf returns the states of the nodes of a NodePool. The annotations of a Node, which its agent writes, decide only
// about that node.
func nodesOf(object *v1alpha1.NodeRollout, members []member) []rollout.Node {
	slots := map[string]v1alpha1.UpgradeSlot{}
	for _, slot := range object.Status.Slots {
		slots[slot.Node] = slot
	}
	failed := map[string]string{}
	for _, failure := range object.Status.Failures {
		isRetried := slices.ContainsFunc(object.Spec.Retries, func(retry v1alpha1.UpgradeRetry) bool {
			return retry.Node == failure.Node && retry.FailedAt.Equal(&failure.At)
		})
		if !isRetried {
			failed[failure.Node] = failure.Config
		}
	}
	canary, err := metav1.LabelSelectorAsSelector(object.Spec.Canary)
	if err != nil {
		canary = labels.Nothing()
	}
	return lists.Map(members, func(one member) rollout.Node {
		annotations, latest := one.node.Annotations, cmp.Or(one.latest, one.node)
		node := rollout.Node{
			Name:        one.node.Name,
			Config:      latest.Annotations[v1alpha1.AnnotationCurrentConfig],
			IsAvailable: isAvailable(latest),
			IsUpgrading: latest.Annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading),
			IsCanary:    one.record != nil && canary.Matches(labels.Set(one.record.Spec.Labels)),
			Blocked:     report.Shorten(latest.Annotations[v1alpha1.AnnotationBlocked], maxMessageLength),
			HasLeft:     one.record == nil,
		}
		if one.record != nil {
			node.Reached = one.record.Status.ReachedConfig
		}
		if config := failed[node.Name]; config != node.Config { // it may have been upgraded by hand
			node.Failed = config
		}
		if slot, has := slots[node.Name]; has {
			isDelivered := annotations[v1alpha1.AnnotationSlot] == slotID(slot)
			node.Slot = &rollout.Slot{
				Config: slot.Config, Given: slot.Given.Time, Delivered: isDelivered,
				Revoked: isDelivered && annotations[v1alpha1.AnnotationDesiredConfig] == "",
				Ended: slices.ContainsFunc(object.Spec.EndedSlots, func(ended v1alpha1.EndedSlot) bool {
					return ended.Node == slot.Node && ended.Given.Equal(&slot.Given)
				}),
			}
			if annotations[v1alpha1.AnnotationFailedSlot] == slotID(slot) {
				reason := cmp.Or(annotations[v1alpha1.AnnotationFailure], "no reason is reported")
				node.Failure = report.Shorten(reason, maxMessageLength)
			}
		}
		return node
	})
}

// isAvailable reports whether a node runs pods and accepts new ones.
func isAvailable(node *corev1.Node) bool { return kube.IsReady(node) && !node.Spec.Unschedulable }

// remainingSlots returns the slots that have not ended. The slot of a node that has left ends.
func remainingSlots(
	slots []v1alpha1.UpgradeSlot, ends []rollout.Outcome, members []member,
) []v1alpha1.UpgradeSlot {
	remaining := sets.New(lists.Map(members, func(one member) string { return one.node.Name })...)
	for _, end := range ends {
		remaining.Delete(end.Node)
	}
	return slices.DeleteFunc(slices.Clone(slots), func(slot v1alpha1.UpgradeSlot) bool {
		return !remaining.Has(slot.Node)
	})
}

// microTime returns a time in the precision of a status.
func microTime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.Truncate(time.Microsecond))
}

// recordDecision writes a decision to the status of a NodeRollout whose slots are those that remain.
func recordDecision(
	object *v1alpha1.NodeRollout, pool rollout.Pool, decision rollout.Decision, members []member, now time.Time,
) {
	status := &object.Status
	status.Config, status.Release = pool.Config, pool.Release
	status.Waiting = report.Shorten(decision.Waiting, maxMessageLength)
	for _, end := range decision.Ended {
		if end.Withdrawn != "" {
			continue
		}
		status.Failures = slices.DeleteFunc(status.Failures, func(one v1alpha1.UpgradeFailure) bool {
			return one.Node == end.Node
		})
		if end.Failure != "" {
			status.Failures = append(status.Failures, v1alpha1.UpgradeFailure{
				Node: end.Node, Config: end.Config, Reason: end.Failure, At: microTime(now),
			})
		}
	}
	for _, node := range decision.Grants {
		status.Slots = append(status.Slots, v1alpha1.UpgradeSlot{
			Node: node, Config: pool.Config, Given: microTime(now),
		})
	}
	nodes := nodesOf(object, members)
	failed := sets.New[string]()
	status.Nodes, status.Updated, status.Failed = 0, 0, 0
	for _, node := range nodes {
		if node.HasLeft {
			continue
		}
		status.Nodes++
		switch {
		case pool.Config == "":
		case node.Config == pool.Config:
			status.Updated++
		case node.Failed == pool.Config:
			status.Failed++
		}
		if node.Failed != "" {
			failed.Insert(node.Name)
		}
	}
	status.Failures = slices.DeleteFunc(status.Failures, func(one v1alpha1.UpgradeFailure) bool {
		return !failed.Has(one.Node)
	})
	status.Unavailable = int32(rollout.Unavailable(nodes)) //nolint:gosec // the number of nodes of a cluster
	setRolloutConditions(object, pool)
}
