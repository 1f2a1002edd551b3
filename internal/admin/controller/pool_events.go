// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// nodePoolFunc returns the name of the NodePool of an object, "" if it has none.
type nodePoolFunc func(ctx context.Context, object client.Object) string

// labeledPool returns the NodePool of a Secret with user data, or of what permits to read it.
func labeledPool(_ context.Context, object client.Object) string {
	return v1alpha1.PublishedNodePool(object)
}

// enrolledPool returns the NodePool of a NodeEnrollment.
func enrolledPool(_ context.Context, object client.Object) string {
	return object.(*v1alpha1.NodeEnrollment).Spec.NodePool
}

// atOnce requests the NodePool of each object that changes.
func atOnce(poolOf nodePoolFunc) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return requestsFor(poolOf(ctx, object))
	})
}

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// delayed requests the NodePool of each object that changes: at once if the object was deleted or has left the
// NodePool, else after a delay, which combines the changes of many objects. This includes the controller's own writes,
// whose events come while others change.
func delayed(delay time.Duration, poolOf nodePoolFunc) handler.EventHandler {
	enqueue := func(nodePool string, queue requestQueue, after time.Duration) {
		for _, request := range requestsFor(nodePool) {
			queue.AddAfter(request, after)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, created event.CreateEvent, queue requestQueue) {
			enqueue(poolOf(ctx, created.Object), queue, delay)
		},
		UpdateFunc: func(ctx context.Context, changed event.UpdateEvent, queue requestQueue) {
			before, after := poolOf(ctx, changed.ObjectOld), poolOf(ctx, changed.ObjectNew)
			if before != after {
				enqueue(before, queue, 0)
			}
			enqueue(after, queue, delay)
		},
		DeleteFunc: func(ctx context.Context, deleted event.DeleteEvent, queue requestQueue) {
			enqueue(poolOf(ctx, deleted.Object), queue, 0)
		},
	}
}

func requestsFor(nodePool string) []reconcile.Request {
	if nodePool == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: nodePool}}}
}
