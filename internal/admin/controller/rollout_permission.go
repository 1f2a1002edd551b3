// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// permit writes to each Node what it is offered, and whether it may be upgraded now. The slots of the ended nodes are
// revoked. A Node that has changed since it was read is a conflict, which does not prevent the others.
func (r *rolloutReconciler) permit(
	ctx context.Context, members []member, offered offer, slots []v1alpha1.UpgradeSlot, ended sets.Set[string],
) error {
	byNode := map[string]v1alpha1.UpgradeSlot{}
	for _, slot := range slots {
		byNode[slot.Node] = slot
	}
	var failed []error
	for _, member := range members {
		node := member.node
		offered, isEnded := offered, ended.Has(node.Name)
		if member.record == nil { // it was read after the status, so that its slot may have ended meanwhile
			offered, isEnded = offer{}, true
		}
		annotations := withPermission(node.Annotations, offered, byNode[node.Name], isEnded)
		if maps.Equal(node.Annotations, annotations) {
			continue
		}
		permitted := node.DeepCopy()
		permitted.Annotations = annotations
		if err := r.client.Patch(ctx, permitted, ifUnchanged(node)); err != nil {
			if client.IgnoreNotFound(err) != nil {
				failed = append(failed, fmt.Errorf("writing the permission to upgrade to Node %s: %w", node.Name, err))
			}
			continue
		}
		node.Annotations, node.ResourceVersion = annotations, permitted.ResourceVersion
	}
	return errors.Join(failed...)
}

// slotID returns the ID of a slot, which a node repeats in its report.
func slotID(slot v1alpha1.UpgradeSlot) string { return strconv.FormatInt(slot.Given.UnixMicro(), 10) }

// deliveredSlots returns the slots of the nodes that are permitted to upgrade, as their Nodes have it.
func deliveredSlots(members []member, now time.Time) []v1alpha1.UpgradeSlot {
	var slots []v1alpha1.UpgradeSlot
	for _, one := range members {
		annotations := one.node.Annotations
		config := annotations[v1alpha1.AnnotationDesiredConfig]
		id, err := strconv.ParseInt(annotations[v1alpha1.AnnotationSlot], 10, 64)
		given := time.UnixMicro(id)
		if err != nil || config == "" || given.After(now) { // a node can write anything there
			continue
		}
		slots = append(slots, v1alpha1.UpgradeSlot{
			Node: one.node.Name, Config: config, Given: microTime(given),
		})
	}
	return slots
}

// recordSlots writes slots to the status of a NodeRollout.
func (r *rolloutReconciler) recordSlots(
	ctx context.Context, object *v1alpha1.NodeRollout, slots []v1alpha1.UpgradeSlot,
) error {
	updated := object.DeepCopy()
	updated.Status.Slots = slots
	err := r.client.Status().Patch(ctx, updated, ifUnchanged(object))
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("recording the slots of NodePool %s: %w", object.Name, err)
	}
	return nil
}

// offer is the user data that the nodes of a NodePool can get. It is empty if the NodePool has no NodeRollout.
type offer struct {
	secret     string // its name
	config     string
	allowMajor bool // an upgrade may move a node to another major version of RHEL
}

// withPermission returns the annotations of a Node with what its agent is offered, and with those that permit it to
// upgrade if the slot is not empty. Of a slot that has ended, and of one that another replica has revoked, only the ID
// remains.
func withPermission(
	annotations map[string]string, offered offer, slot v1alpha1.UpgradeSlot, hasEnded bool,
) map[string]string {
	id, config, allowMajor := "", "", ""
	if slot.Node != "" {
		id, config = slotID(slot), slot.Config
		if hasEnded || annotations[v1alpha1.AnnotationSlot] == id && annotations[v1alpha1.AnnotationDesiredConfig] == "" {
			config = ""
		}
	}
	if config != "" && offered.allowMajor {
		allowMajor = strconv.FormatBool(true)
	}
	permitted := map[string]string{}
	maps.Copy(permitted, annotations)
	for key, value := range map[string]string{
		v1alpha1.AnnotationUserData: offered.secret, v1alpha1.AnnotationNextConfig: offered.config,
		v1alpha1.AnnotationDesiredConfig: config, v1alpha1.AnnotationSlot: id,
		v1alpha1.AnnotationAllowMajor: allowMajor,
	} {
		if value == "" {
			delete(permitted, key)
		} else {
			permitted[key] = value
		}
	}
	return permitted
}
