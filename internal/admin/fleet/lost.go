// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// podTimeout limits the wait for the end of the pods of a lost node. A finalizer can delay it.
const podTimeout = time.Minute

// RemoveLost deletes what Remove deletes, also of Ready Nodes, and the pods of the nodes without a grace period. As
// long as a pod is bound to a node, the API server lets the credential of the node read the Secrets of the pod. The API
// server must refuse the writes of the nodes before.
func (c Client) RemoveLost(
	ctx context.Context, log report.Log, names []string, deleted func(kind, node string),
) ([]Removal, error) {
	all, err := c.readRemovable(ctx, names)
	if err != nil {
		return nil, err
	}
	return removeEach(all, deleted, func(one removable, removal *Removal, deleted func(kind string)) error {
		return c.removeLost(ctx, log, one, removal, deleted)
	})
}

// removeLost deletes the objects of a lost node. Controllers of DaemonSets create pods as long as the Node exists, so
// that pods are deleted again after it.
func (c Client) removeLost(
	ctx context.Context, log report.Log, one removable, removal *Removal, deleted func(kind string),
) error {
	if err := c.removeEnrollment(ctx, one, deleted); err != nil {
		return err
	}
	_, err := c.deletePods(ctx, one.name, &removal.Pods)
	if err != nil {
		return err
	}
	if one.node.UID != "" {
		if err := c.removeNode(ctx, one, true); err != nil {
			return err
		}
		deleted(nodeKind().Kind)
	}
	if err := c.awaitNoPods(ctx, log, one.name, &removal.Pods); err != nil {
		return err
	}
	if removal.Pods > 0 {
		deleted("Pod")
	}
	return nil
}

// awaitNoPods deletes the pods of a node until none exists.
func (c Client) awaitNoPods(ctx context.Context, log report.Log, node string, count *int) error {
	limited, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	for {
		left, err := c.deletePods(limited, node, count)
		if limited.Err() == nil && (err != nil || left == 0) {
			return err
		}
		log.Wait(fmt.Sprintf("waiting until the pods of %s are deleted: %d left", node, left), "")
		if wait.Sleep(limited, time.Second) == nil {
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return report.Fail(report.Interrupted, "# run the same command again to resume", "interrupted while waiting "+
				"until the pods of %s are deleted", node)
		}
		return report.Fail(report.Failed, report.Remedyf("oc --kubeconfig hosted.kubeconfig get pods --all-namespaces "+
			"--field-selector spec.nodeName=%s -o yaml # finalizers delay the deletion; remove them", node),
			"timed out after %s waiting until the pods of %s are deleted: %d left", podTimeout, node, left)
	}
}

// deletePods deletes the pods of a node without a grace period. It adds those that were not being deleted before to
// count, and returns the number of pods that existed.
func (c Client) deletePods(ctx context.Context, node string, count *int) (existed int, err error) {
	page := &metav1.PartialObjectMetadataList{}
	for {
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		err := c.List(ctx, page, client.MatchingFields{"spec.nodeName": node}, client.Limit(pageSize),
			client.Continue(page.Continue))
		if err != nil {
			return existed, err
		}
		for i := range page.Items {
			pod := &page.Items[i]
			pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			existed++
			switch err := c.Delete(ctx, pod, withUID(pod.UID), client.GracePeriodSeconds(0)); {
			case apierrors.IsNotFound(err), apierrors.IsConflict(err): // deleted, or replaced on another node
			case err != nil:
				return existed, err
			case pod.DeletionTimestamp == nil:
				*count++
			}
		}
		if page.Continue == "" {
			return existed, nil
		}
	}
}
