// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// decide decides on a rollout. It reads each node that gets a slot, has failed without one, or is no longer failed,
// from the API server: the cache may lack that the node has reached the configuration, or that it has it or not.
func (r *rolloutReconciler) decide(
	ctx context.Context, object *v1alpha1.NodeRollout, pool rollout.Pool, members []member, now time.Time,
) (rollout.Decision, error) {
	failures := sets.New[string]()
	for _, failure := range object.Status.Failures {
		failures.Insert(failure.Node)
	}
	isCurrent := sets.New[string]()
	for {
		nodes := nodesOf(object, members)
		decision := rollout.Decide(pool, nodes, now)
		affected := slices.Clone(decision.Grants)
		for _, node := range nodes {
			hasFailed := slices.ContainsFunc(decision.Ended, func(end rollout.Outcome) bool { return end.Node == node.Name })
			if node.Slot == nil && hasFailed || node.Failed == "" && failures.Has(node.Name) {
				affected = append(affected, node.Name)
			}
		}
		if isCurrent.HasAll(affected...) {
			return decision, nil
		}
		isCurrent.Insert(affected...)
		for i := range members {
			one := &members[i]
			if one.record == nil || !slices.Contains(affected, one.node.Name) {
				continue
			}
			// The record first: the Node then has a report that is at least as new.
			one.record, one.latest = &v1alpha1.NodeEnrollment{}, &corev1.Node{}
			key := client.ObjectKeyFromObject(one.node)
			if err := errors.Join(r.live.Get(ctx, key, one.record), r.live.Get(ctx, key, one.latest)); err != nil {
				return rollout.Decision{}, fmt.Errorf("reading the state of %s: %w", key.Name, err)
			}
		}
	}
}

// recordReached records which configuration the nodes have reached. That of a failed node is removed, so that the node
// gets a slot when an administrator demands its retry.
func (r *rolloutReconciler) recordReached(
	ctx context.Context, object *v1alpha1.NodeRollout, pool rollout.Pool, members []member,
) error {
	var failed []error
	for i, node := range nodesOf(object, members) {
		record, reached := members[i].record, reachedConfig(pool, node)
		if node.HasLeft || reached == node.Reached {
			continue
		}
		updated := record.DeepCopy()
		updated.Status.ReachedConfig = reached
		if err := r.client.Status().Patch(ctx, updated, ifUnchanged(record)); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("recording the configuration of %s: %w", node.Name, err))
			continue
		}
		members[i].record = updated
	}
	return errors.Join(failed...)
}

// reachedConfig returns the configuration that a node has reached, "" if it must be upgraded to it again.
func reachedConfig(pool rollout.Pool, node rollout.Node) string {
	hasConfig := node.Config == pool.Config || node.Slot != nil && node.Config == node.Slot.Config
	switch {
	case hasConfig && node.Config != "" && !node.IsUpgrading:
		return node.Config
	case node.Failed == node.Reached:
		return ""
	}
	return node.Reached
}
