// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// publish creates the Secret with the user data of a NodePool, or changes its configuration.
func publish(t *testing.T, nodePool, config string) {
	t.Helper()
	admin := adminClient(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(nodePool),
			Labels:      map[string]string{v1alpha1.LabelNodePool: nodePool},
			Annotations: map[string]string{v1alpha1.AnnotationPoolConfig: config, v1alpha1.AnnotationPoolRelease: "4.21.3"},
		},
		StringData: map[string]string{v1alpha1.UserDataKey: "{}"},
	}
	if err := admin.Create(t.Context(), secret); err == nil {
		t.Cleanup(func() {
			if err := admin.Delete(context.Background(), secret); err != nil {
				t.Error(err)
			}
		})
		return
	}
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// joinPool creates nodes of a NodePool that have joined, are Ready and have configuration "old".
func joinPool(t *testing.T, nodePool string, names ...string) {
	t.Helper()
	for _, name := range names {
		_, object := newEnrollment(t, name, csrtest.ClusterCA(t))
		object.Spec.NodePool = nodePool
		object.Spec.UsedBy = usedBy("SHA256:00")
		create(t, object)
		csrtest.CreateNode(t, name)
		setReady(t, name, corev1.ConditionTrue, "KubeletReady", "")
		reportAs(t, name, map[string]string{v1alpha1.AnnotationCurrentConfig: "old"})
	}
}

// reportAs writes annotations of a Node with the credential of the node, as its agent does.
func reportAs(t *testing.T, name string, annotations map[string]string) {
	t.Helper()
	nodes := csrtest.NodeClient(t, name).CoreV1().Nodes()
	node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := node.DeepCopy()
	for key, value := range annotations {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value)
	}
	patch := client.MergeFrom(before)
	data, err := patch.Data(node)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.Patch(t.Context(), name, patch.Type(), data, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createRollout creates a NodeRollout, and deletes it after the test.
func createRollout(t *testing.T, nodePool string, spec v1alpha1.NodeRolloutSpec) *v1alpha1.NodeRollout {
	t.Helper()
	admin := adminClient(t)
	object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: nodePool}, Spec: spec}
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return object
}

func getRollout(t *testing.T, nodePool string) *v1alpha1.NodeRollout {
	t.Helper()
	object := &v1alpha1.NodeRollout{}
	if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: nodePool}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// retry demands that the failed upgrades of a NodePool are repeated.
func retry(t *testing.T, nodePool string) {
	t.Helper()
	change(t, getRollout(t, nodePool), func(object *v1alpha1.NodeRollout) {
		for _, failure := range object.Status.Failures {
			object.Spec.Retries = append(object.Spec.Retries,
				v1alpha1.UpgradeRetry{Node: failure.Node, FailedAt: failure.At})
		}
	})
}

// awaitRollout waits until the status of a NodeRollout is as wanted. Its slots are described by the names of the nodes.
func awaitRollout(t *testing.T, nodePool, want string) v1alpha1.NodeRolloutStatus {
	t.Helper()
	var status v1alpha1.NodeRolloutStatus
	waittest.Until(t, "waiting for the rollout "+want, func() (any, bool) {
		status = getRollout(t, nodePool).Status
		got := fmt.Sprintf("%d nodes, %d updated, %d unavailable, %d failed", status.Nodes, status.Updated,
			status.Unavailable, status.Failed)
		for _, slot := range status.Slots {
			got += ", slot of " + slot.Node
		}
		if status.Waiting != "" {
			got += ": " + status.Waiting
		}
		return fmt.Sprintf("%s (%+v)", got, status), got == want
	})
	return status
}

// permissionOf returns the configuration and the slot that a Node may use, after it has one or none as wanted.
func permissionOf(t *testing.T, name string, has bool) (config, slot string) {
	t.Helper()
	waittest.Until(t, "waiting for the permission of "+name, func() (any, bool) {
		node := &corev1.Node{}
		if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: name}, node); err != nil {
			t.Fatal(err)
		}
		config, slot = node.Annotations[v1alpha1.AnnotationDesiredConfig], node.Annotations[v1alpha1.AnnotationSlot]
		return node.Annotations, (config != "") == has && (slot != "") == has
	})
	return config, slot
}
