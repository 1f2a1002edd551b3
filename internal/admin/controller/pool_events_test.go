// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// recordedQueue records what is added to it.
type recordedQueue struct {
	requestQueue

	added []string
}

func (q *recordedQueue) AddAfter(request reconcile.Request, after time.Duration) {
	q.added = append(q.added, request.Name+" after "+after.String())
}

func TestDelayedRequests(t *testing.T) {
	enrolled := func(nodePool string) *v1alpha1.NodeEnrollment {
		return &v1alpha1.NodeEnrollment{Spec: v1alpha1.NodeEnrollmentSpec{NodePool: nodePool}}
	}
	events := delayed(time.Minute, enrolledPool)
	for _, test := range []struct {
		name string
		send func(queue requestQueue)
		want []string
	}{
		{"created", func(queue requestQueue) {
			events.Create(t.Context(), event.CreateEvent{Object: enrolled("workers")}, queue)
		}, []string{"workers after 1m0s"}},
		{"changed", func(queue requestQueue) {
			events.Update(t.Context(),
				event.UpdateEvent{ObjectOld: enrolled("workers"), ObjectNew: enrolled("workers")}, queue)
		}, []string{"workers after 1m0s"}},
		{"moved to another NodePool", func(queue requestQueue) {
			events.Update(t.Context(), event.UpdateEvent{ObjectOld: enrolled("workers"), ObjectNew: enrolled("gpu")}, queue)
		}, []string{"workers after 0s", "gpu after 1m0s"}},
		{"removed from its NodePool", func(queue requestQueue) {
			events.Update(t.Context(), event.UpdateEvent{ObjectOld: enrolled("workers"), ObjectNew: enrolled("")}, queue)
		}, []string{"workers after 0s"}},
		{"deleted", func(queue requestQueue) {
			events.Delete(t.Context(), event.DeleteEvent{Object: enrolled("workers")}, queue)
		}, []string{"workers after 0s"}},
		{"without a NodePool", func(queue requestQueue) {
			events.Create(t.Context(), event.CreateEvent{Object: enrolled("")}, queue)
		}, nil},
	} {
		queue := &recordedQueue{}
		if test.send(queue); !slices.Equal(queue.added, test.want) {
			t.Errorf("%s: requested are %q, want %q", test.name, queue.added, test.want)
		}
	}
}
