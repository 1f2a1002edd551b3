// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// After a restore without the status, and after the objects were created again from exported manifests, a used join
// token remains used, serving certificates are approved, and the controller writes the status again.
func TestControlPlaneRestore(t *testing.T) {
	for name, restore := range map[string]func(*testing.T, *v1alpha1.NodeEnrollment){
		"without-status": deleteStatus,
		"from-manifests": func(t *testing.T, object *v1alpha1.NodeEnrollment) {
			t.Helper()
			deleteEnrollment(t, object.Name)
			create(t, &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: object.Name}, Spec: object.Spec})
		},
	} {
		t.Run(name, func(t *testing.T) {
			token, object := newEnrollment(t, name, csrtest.ClusterCA(t), "192.0.2.7")
			object.Spec.Reinstall = v1alpha1.ReinstallAllow // otherwise the Node alone would refuse another key
			create(t, object)
			before := startController(t)
			first, _ := csrtest.SubmitWithToken(t, token)
			before.awaitApproved(first)
			csrtest.CreateNode(t, name, "192.0.2.7")
			setReady(t, name, corev1.ConditionTrue, "KubeletReady", "")
			awaitPhase(t, name, v1alpha1.PhaseReady, "")
			before.stop()

			setReady(t, name, corev1.ConditionUnknown, "NodeStatusUnknown", "the machine is off")
			restore(t, getEnrollment(t, name))
			c := startController(t)
			other, _ := csrtest.SubmitWithToken(t, token)
			c.awaitDecision(other, approver.Refused, "was already used with another key")
			checkPending(t, other)
			c.awaitApproved(servingCSR(t, name, "192.0.2.7"))
			setReady(t, name, corev1.ConditionTrue, "KubeletReady", "")
			status := awaitPhase(t, name, v1alpha1.PhaseReady, "")
			checkConditions(t, status, "True TokenUsed", "True NodeExists", "True KubeletReady")
		})
	}
}

// deleteStatus removes the status of an object.
func deleteStatus(t *testing.T, object *v1alpha1.NodeEnrollment) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status": null}`))
	if err := adminClient(t).Status().Patch(t.Context(), object, patch); err != nil {
		t.Fatal(err)
	}
	if got := getEnrollment(t, object.Name).Status; got.Phase != "" || len(got.Conditions) > 0 {
		t.Fatalf("the status is %+v", got)
	}
}

// A node that has a slot keeps it after a restore without the status, and counts.
func TestControlPlaneRestoredRollout(t *testing.T) {
	joinPool(t, "restored", "restored-1", "restored-2")
	publish(t, "restored", "new")
	createRollout(t, "restored", v1alpha1.NodeRolloutSpec{})
	before := startController(t)
	_, slot := permissionOf(t, "restored-1", true)
	reportAs(t, "restored-1", map[string]string{v1alpha1.AnnotationState: string(v1alpha1.AgentUpgrading)})
	before.stop()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status": null}`))
	if err := adminClient(t).Status().Patch(t.Context(), getRollout(t, "restored"), patch); err != nil {
		t.Fatal(err)
	}
	startController(t)
	awaitRollout(t, "restored", "2 nodes, 0 updated, 1 unavailable, 0 failed, slot of restored-1: "+
		"at most 1 of the nodes may be unavailable")
	if _, again := permissionOf(t, "restored-1", true); again != slot {
		t.Errorf("the slot is %s, it was %s", again, slot)
	}
	permissionOf(t, "restored-2", false)
}
