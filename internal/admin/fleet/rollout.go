// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Rollout returns the NodeRollout of a NodePool, nil if it does not exist. It fails for an unknown NodePool.
func (c Client) Rollout(ctx context.Context, nodePool string) (*v1alpha1.NodeRollout, error) {
	object := &v1alpha1.NodeRollout{}
	exists, err := c.Find(ctx, client.ObjectKey{Name: nodePool}, object)
	if err != nil || exists {
		return object, err
	}
	return nil, c.checkNodePool(ctx, nodePool)
}

// checkNodePool fails if no node of a NodePool is enrolled, and its user data is not published.
func (c Client) checkNodePool(ctx context.Context, nodePool string) error {
	known, err := c.NodePools(ctx)
	if err != nil || slices.Contains(known, nodePool) {
		return err
	}
	published, err := c.publishedSecret(ctx, nodePool)
	if err != nil || published != nil {
		return err
	}
	message := "the hosted cluster has no NodePool " + nodePool + ": no node of it is enrolled, and its user data is " +
		"not published"
	if len(known) > 0 {
		message += "; NodePools with enrolled nodes: " + strings.Join(known, ", ") + config.Suggestion(nodePool, known)
	}
	return report.Fail(report.Usage, "oc get nodeenrollments # lists the nodes with their NodePools", "%s", message)
}

// WithoutRollout returns the failure for a NodePool without a NodeRollout.
func WithoutRollout(nodePool string) error {
	return report.Fail(report.Usage, "# --start creates it: the controller then drains and upgrades nodes, one after the "+
		"other", "NodePool %s has no NodeRollout: its nodes are upgraded by hand", nodePool)
}

// ChangeRollout changes the specification of a NodePool's NodeRollout. If it does not exist, start permits to
// create it.
func (c Client) ChangeRollout(
	ctx context.Context, nodePool string, start bool, change func(*v1alpha1.NodeRolloutSpec),
) (*v1alpha1.NodeRollout, error) {
	var object *v1alpha1.NodeRollout
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object = &v1alpha1.NodeRollout{}
		exists, err := c.Find(ctx, client.ObjectKey{Name: nodePool}, object)
		if err != nil {
			return err
		}
		before := object.DeepCopy()
		change(&object.Spec)
		if !exists {
			if err := c.checkNodePool(ctx, nodePool); err != nil {
				return err
			}
			if !start {
				return WithoutRollout(nodePool)
			}
			object.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRollout"}
			object.Name = nodePool
			return c.Create(ctx, object)
		}
		if equality.Semantic.DeepEqual(before.Spec, object.Spec) {
			return nil
		}
		return c.Update(ctx, object)
	})
	return object, err
}

// Release demands that the failed upgrades of nodes are repeated, and that the slots of nodes end, in the specification
// of a NodeRollout. A node without a failed upgrade, or without a slot, is an error, and nothing is changed.
func (c Client) Release(ctx context.Context, nodePool string, retried, ended []string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object := &v1alpha1.NodeRollout{}
		exists, err := c.Find(ctx, client.ObjectKey{Name: nodePool}, object)
		if err != nil {
			return err
		}
		if !exists {
			return cmp.Or(c.checkNodePool(ctx, nodePool), WithoutRollout(nodePool))
		}
		dropFormer(object)
		spec, status := &object.Spec, object.Status
		for _, node := range retried {
			at := slices.IndexFunc(status.Failures, func(one v1alpha1.UpgradeFailure) bool { return one.Node == node })
			if at < 0 {
				return report.Fail(report.Usage, report.Remedyf("hcp-node-admin upgrade %s # lists the failures", nodePool),
					"no failed upgrade of node %s is recorded", node)
			}
			spec.Retries = slices.DeleteFunc(spec.Retries, func(one v1alpha1.UpgradeRetry) bool { return one.Node == node })
			spec.Retries = append(spec.Retries, v1alpha1.UpgradeRetry{Node: node, FailedAt: status.Failures[at].At})
		}
		for _, node := range ended {
			at := slices.IndexFunc(status.Slots, func(one v1alpha1.UpgradeSlot) bool { return one.Node == node })
			if at < 0 {
				return report.Fail(report.Usage, report.Remedyf("hcp-node-admin upgrade %s # lists the slots", nodePool),
					"node %s has no slot", node)
			}
			spec.EndedSlots = slices.DeleteFunc(spec.EndedSlots, func(one v1alpha1.EndedSlot) bool { return one.Node == node })
			spec.EndedSlots = append(spec.EndedSlots, v1alpha1.EndedSlot{Node: node, Given: status.Slots[at].Given})
		}
		return c.Update(ctx, object)
	})
}

// dropFormer removes from a specification the retries of failures and the ends of slots that the status no longer has.
func dropFormer(object *v1alpha1.NodeRollout) {
	spec, status := &object.Spec, object.Status
	spec.Retries = slices.DeleteFunc(spec.Retries, func(one v1alpha1.UpgradeRetry) bool {
		return !slices.ContainsFunc(status.Failures, func(failure v1alpha1.UpgradeFailure) bool {
			return one.Node == failure.Node && one.FailedAt.Equal(&failure.At)
		})
	})
	spec.EndedSlots = slices.DeleteFunc(spec.EndedSlots, func(one v1alpha1.EndedSlot) bool {
		return !slices.ContainsFunc(status.Slots, func(slot v1alpha1.UpgradeSlot) bool {
			return one.Node == slot.Node && one.Given.Equal(&slot.Given)
		})
	})
}

// StopRollout deletes the NodeRollout of a NodePool. It returns false if it does not exist, and fails for an unknown
// NodePool.
func (c Client) StopRollout(ctx context.Context, nodePool string) (existed bool, err error) {
	err = c.Delete(ctx, &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: nodePool}})
	if apierrors.IsNotFound(err) {
		return false, c.checkNodePool(ctx, nodePool)
	}
	return err == nil, err
}
