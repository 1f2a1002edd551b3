// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// startRollout starts a manager whose only controller is the returned reconciler, which the test calls itself.
func startRollout(t *testing.T) (*rolloutReconciler, *hookedClient) {
	t.Helper()
	c := &testController{t: t}
	m := c.newManager(controllerKubeconfig)
	hooked := &hookedClient{Client: m.GetClient()}
	r := &rolloutReconciler{client: hooked, live: m.GetAPIReader(), events: m.GetEventRecorder(EventSource)}
	c.run(m, nil)
	ctx := waittest.Context(t)
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	for _, object := range []client.Object{&corev1.Node{}, &v1alpha1.NodeEnrollment{}, secrets} {
		if _, err := m.GetCache().GetInformer(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache is not synchronized")
	}
	return r, hooked
}

// Two replicas that both work decide at the same time, one of them before and one after nodes were cordoned. The slots
// are those of one of them. TestRolloutOfTwoReplicas has other orders.
func TestControlPlaneRolloutWithTwoReplicas(t *testing.T) {
	names := []string{"twice-1", "twice-2", "twice-3", "twice-4"}
	joinPool(t, "twice", names...)
	publish(t, "twice", "new")
	two := intstr.FromInt32(2)
	createRollout(t, "twice", v1alpha1.NodeRolloutSpec{MaxUnavailable: &two, Paused: true})
	reconcile := func(r *rolloutReconciler) {
		if _, err := r.Reconcile(t.Context(), requestFor("twice")); err != nil {
			t.Error(err)
		}
	}
	first, hooked := startRollout(t)
	waittest.Until(t, "waiting until the nodes have what they are offered", func() (any, bool) {
		result, err := first.Reconcile(t.Context(), requestFor("twice"))
		return err, err == nil && result.RequeueAfter == 0
	})
	second, _ := startRollout(t)
	change(t, getRollout(t, "twice"), func(object *v1alpha1.NodeRollout) { object.Spec.Paused = false })
	var once sync.Once
	hooked.beforePatch = func() error {
		once.Do(func() {
			node := &corev1.Node{}
			key := client.ObjectKey{Name: "twice-1"}
			if err := adminClient(t).Get(t.Context(), key, node); err != nil {
				t.Fatal(err)
			}
			change(t, node, func(node *corev1.Node) { node.Spec.Unschedulable = true })
			waittest.Until(t, "waiting for the cordoned node in the cache", func() (any, bool) {
				err := second.client.Get(t.Context(), key, node)
				return err, err == nil && node.Spec.Unschedulable
			})
			reconcile(second)
		})
		return nil
	}
	reconcile(first) // decides, and then the second one decides and writes
	awaitRollout(t, "twice", "4 nodes, 0 updated, 2 unavailable, 0 failed, slot of twice-2: "+
		"at most 2 of the nodes may be unavailable")
	permissionOf(t, "twice-1", false)
}

// A controller that is stopped after it has recorded a slot has not given it to the node. The next one does.
func TestControlPlaneRolloutAfterStop(t *testing.T) {
	joinPool(t, "stopped", "stopped-1")
	publish(t, "stopped", "new")
	createRollout(t, "stopped", v1alpha1.NodeRolloutSpec{})
	r, hooked := startRollout(t)
	errStopped := errors.New("stopped")
	hooked.beforeObjectPatch = func(object client.Object) error {
		if object.GetAnnotations()[v1alpha1.AnnotationSlot] != "" {
			return errStopped
		}
		return nil
	}
	waittest.Until(t, "waiting until the cache has the node and the slot is given", func() (any, bool) {
		_, err := r.Reconcile(t.Context(), requestFor("stopped"))
		return err, errors.Is(err, errStopped)
	})
	slots := awaitRollout(t, "stopped", "1 nodes, 0 updated, 1 unavailable, 0 failed, slot of stopped-1").Slots
	permissionOf(t, "stopped-1", false)
	startController(t)
	if _, slot := permissionOf(t, "stopped-1", true); slot != slotID(slots[0]) {
		t.Errorf("the slot is %s, want %s", slot, slotID(slots[0]))
	}
}
