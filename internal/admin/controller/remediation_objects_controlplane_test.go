// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// testRemediator is a controller that only remediates, with a clock that is ahead: a node that has just become
// unresponsive has been so for long enough.
type testRemediator struct {
	*testController
	ahead atomic.Int64 // of the clock
}

// startRemediator starts the controller of remediations with the rights of the controller.
func startRemediator(t *testing.T) *testRemediator {
	t.Helper()
	c := &testRemediator{testController: &testController{t: t}}
	c.ahead.Store(int64(20 * time.Minute))
	m := c.newManager(controllerKubeconfig)
	r := &remediationReconciler{
		client: m.GetClient(), live: m.GetAPIReader(), events: m.GetEventRecorder(EventSource),
		now:   func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) },
		since: time.Now().Add(-24 * time.Hour),
	}
	c.run(m, r.addTo(m))
	return c
}

// createRemediation creates a NodeRemediation, and deletes it after the test.
func createRemediation(t *testing.T, nodePool string, action v1alpha1.RemediationAction) {
	t.Helper()
	object := &v1alpha1.NodeRemediation{
		ObjectMeta: metav1.ObjectMeta{Name: nodePool}, Spec: v1alpha1.NodeRemediationSpec{Action: action},
	}
	createUntilEnd(t, object)
}

// createUntilEnd creates an object, and deletes it after the test.
func createUntilEnd(t *testing.T, object client.Object) {
	t.Helper()
	admin := adminClient(t)
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := admin.Delete(context.Background(), object, client.GracePeriodSeconds(0),
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

func getRemediation(t *testing.T, nodePool string) *v1alpha1.NodeRemediation {
	t.Helper()
	object := &v1alpha1.NodeRemediation{}
	if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: nodePool}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// reconcileRemediation changes a NodeRemediation, so that the controller decides again.
func reconcileRemediation(t *testing.T, nodePool string) {
	t.Helper()
	change(t, getRemediation(t, nodePool), func(object *v1alpha1.NodeRemediation) {
		object.Spec.After.Duration += time.Second
	})
}

// awaitRemediation waits until the status of a NodeRemediation has the remediated nodes and a part of why others wait.
func awaitRemediation(t *testing.T, nodePool, remediated, waiting string) v1alpha1.NodeRemediationStatus {
	t.Helper()
	var status v1alpha1.NodeRemediationStatus
	waittest.Until(t, "waiting for the remediation of "+remediated+": "+waiting, func() (any, bool) {
		object := getRemediation(t, nodePool)
		status = object.Status
		return fmt.Sprintf("%+v", status), status.ObservedGeneration == object.Generation &&
			strings.Join(recordedNodes(object), " ") == remediated && strings.Contains(status.Waiting, waiting) &&
			(waiting != "" || status.Waiting == "")
	})
	return status
}

// grantRemediation grants the rights of deploy/hosted-remediation until the end of the test.
func grantRemediation(t *testing.T) {
	t.Helper()
	if err := rights.Grant(t.Context(), kubetest.AdminClient(t), "hosted-remediation/rbac.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		named, admin := metav1.ObjectMeta{Name: "hcp-node-admin-remediation"}, adminClient(t)
		for _, object := range []client.Object{
			&rbacv1.ClusterRole{ObjectMeta: named}, &rbacv1.ClusterRoleBinding{ObjectMeta: named},
		} {
			if err := admin.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		}
	})
}

// keepAlive renews the Leases of nodes as their kubelets do, until the end of the test.
func keepAlive(t *testing.T, names ...string) {
	t.Helper()
	leases := kubetest.AdminClient(t).CoordinationV1().Leases(corev1.NamespaceNodeLease)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, name := range names {
		lease, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To(name), LeaseDurationSeconds: ptr.To(int32(40)), RenewTime: ptr.To(metav1.NowMicro()),
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			ticker := time.NewTicker(10 * time.Second)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					if err := leases.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
						t.Error(err)
					}
					return
				case <-ticker.C:
					lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
					if renewed, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
						lease = renewed
					}
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); group.Wait() })
}

// runStatefulSet creates a StatefulSet with one pod, which no scheduler places.
func runStatefulSet(t *testing.T, name string) {
	t.Helper()
	labels := map[string]string{"app": name}
	sets := kubetest.AdminClient(t).AppsV1().StatefulSets("default")
	_, err := sets.Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(int32(1)), ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sets.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// placePod waits until a pod exists that is on no node, and places it on a node.
func placePod(t *testing.T, name, node string) {
	t.Helper()
	pods := kubetest.AdminClient(t).CoreV1().Pods("default")
	waittest.Until(t, "waiting for a new pod "+name, func() (any, bool) {
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		return fmt.Sprintf("%+v, %v", pod, err), err == nil && pod.Spec.NodeName == ""
	})
	err := pods.Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func getNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{}
	if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: name}, node); err != nil {
		t.Fatal(err)
	}
	return node
}
