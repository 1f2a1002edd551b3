// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// The taint lets the real kube-controller-manager delete the pods of a lost node, so that a StatefulSet runs elsewhere.
// The node that returns loses the taint when no pod is terminating on it.
func TestControlPlaneRemediation(t *testing.T) {
	joinPool(t, "dead", "dead-1", "dead-2", "dead-3")
	keepAlive(t, "dead-2", "dead-3")
	runStatefulSet(t, "db")
	placePod(t, "db-0", "dead-1")
	stuck := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stuck", Finalizers: []string{"example.com/stuck"}},
		Spec:       corev1.PodSpec{NodeName: "dead-1", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	createUntilEnd(t, stuck)
	createRemediation(t, "dead", v1alpha1.RemediationTaint)
	c := startRemediator(t)
	awaitRemediation(t, "dead", "", "")

	setReady(t, "dead-1", corev1.ConditionUnknown, reasonUnresponsive, "Kubelet stopped posting node status.")
	status := awaitRemediation(t, "dead", "", "a permission is missing, which deploy/hosted-remediation grants: ")
	if blocked := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionBlocked); blocked.Reason != "Forbidden" ||
		blocked.Status != metav1.ConditionTrue || outOfServiceTaint(getNode(t, "dead-1")) != "" {
		t.Errorf("without the permission: %+v", status)
	}
	grantRemediation(t)
	waittest.Until(t, "waiting for the taint", func() (any, bool) {
		reconcileRemediation(t, "dead") // permissions need a moment
		node := getNode(t, "dead-1")
		return node.Spec.Taints, outOfServiceTaint(node) == "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
	})
	placePod(t, "db-0", "dead-2")
	status = awaitRemediation(t, "dead", "dead-1", "")
	if one := status.Remediated[0]; !one.Applied || status.Nodes != 3 || status.Unhealthy != 1 {
		t.Errorf("the status is %+v", status)
	}

	keepAlive(t, "dead-1")
	setReady(t, "dead-1", corev1.ConditionTrue, "KubeletReady", "")
	waittest.Until(t, "waiting for the record that the node is Ready", func() (any, bool) {
		status := getRemediation(t, "dead").Status
		return status, len(status.Remediated) == 1 && status.Remediated[0].ReadySince != nil
	})
	if outOfServiceTaint(getNode(t, "dead-1")) == "" {
		t.Error("the taint is removed at once")
	}
	c.ahead.Add(int64(2 * time.Minute))
	reconcileRemediation(t, "dead")
	awaitRemediation(t, "dead", "dead-1", "the taint of dead-1 remains: pod default/stuck is terminating on the node")
	if err := adminClient(t).Get(t.Context(), client.ObjectKeyFromObject(stuck), stuck); err != nil {
		t.Fatal(err)
	}
	change(t, stuck, func(pod *corev1.Pod) { pod.Finalizers = nil })
	c.ahead.Add(int64(time.Minute))
	reconcileRemediation(t, "dead")
	awaitRemediation(t, "dead", "", "")
	if taint := outOfServiceTaint(getNode(t, "dead-1")); taint != "" {
		t.Errorf("the node that is back has the taint %s", taint)
	}
	checkRemediationEvents(t, "dead-1",
		"Normal RemediationEnded the node is back",
		"Warning NodeRemediated the node is unresponsive: the Node gets the taint "+
			"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}

// checkRemediationEvents checks the Events about remediations of a node.
func checkRemediationEvents(t *testing.T, node string, want ...string) {
	t.Helper()
	var got []string
	waittest.Until(t, "waiting for all Events of "+node, func() (any, bool) {
		got = slices.DeleteFunc(eventsOf(t, node), func(event string) bool { return !strings.Contains(event, "Remediat") })
		return got, len(got) >= len(want)
	})
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Events of %s (-want +got):\n%s", node, diff)
	}
}

// A lost node is deleted, and counts until it is back. An outage of another node prevents nothing else meanwhile.
func TestControlPlaneRemediationByDeletion(t *testing.T) {
	joinPool(t, "gone", "gone-1", "gone-2", "gone-3", "gone-4")
	keepAlive(t, "gone-2", "gone-3", "gone-4")
	grantRemediation(t)
	createRemediation(t, "gone", v1alpha1.RemediationDelete)
	startRemediator(t)
	uid := getNode(t, "gone-1").UID
	setReady(t, "gone-1", corev1.ConditionUnknown, reasonUnresponsive, "")
	waittest.Until(t, "waiting until the Node is deleted", func() (any, bool) {
		reconcileRemediation(t, "gone") // permissions need a moment
		node := &corev1.Node{}
		err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: "gone-1"}, node)
		return err, client.IgnoreNotFound(err) == nil && err != nil
	})
	if status := awaitRemediation(t, "gone", "gone-1", ""); status.Unhealthy != 1 || status.Remediated[0].UID != uid {
		t.Errorf("the status is %+v", status)
	}
	setReady(t, "gone-2", corev1.ConditionUnknown, reasonUnresponsive, "")
	awaitRemediation(t, "gone", "gone-1", "2 of 4 nodes are unresponsive, at most 1 may be")
	setReady(t, "gone-2", corev1.ConditionTrue, "KubeletReady", "")
	csrtest.CreateNode(t, "gone-1")
	setReady(t, "gone-1", corev1.ConditionTrue, "KubeletReady", "")
	awaitRemediation(t, "gone", "", "")
	checkRemediationEvents(t, "gone-1",
		"Normal RemediationEnded the Node was created again",
		"Warning NodeRemediated the node is unresponsive: the Node is deleted")
}

// The taint of an administrator remains, and a node that was lost in an outage is not remediated when the outage ends.
func TestControlPlaneRemediationAfterOutage(t *testing.T) {
	names := []string{"cut-1", "cut-2", "cut-3"}
	joinPool(t, "cut", names...)
	keepAlive(t, names...)
	grantRemediation(t)
	createRemediation(t, "cut", v1alpha1.RemediationTaint)
	c := startRemediator(t)
	taint := []byte(`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`)
	_, err := kubetest.AdminClient(t).CoreV1().Nodes().Patch(t.Context(), "cut-3", types.MergePatchType, taint,
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		setReady(t, name, corev1.ConditionUnknown, reasonUnresponsive, "")
	}
	awaitRemediation(t, "cut", "", "3 of 3 nodes are unresponsive, at most 1 may be")
	for _, name := range names[1:] {
		setReady(t, name, corev1.ConditionTrue, "KubeletReady", "")
	}
	status := awaitRemediation(t, "cut", "", "cut-1 is unresponsive since ")
	if status.NotBefore == nil || status.NotBefore.Time.Before(time.Now().Add(20*time.Minute)) {
		t.Errorf("the status is %+v", status)
	}
	c.ahead.Add(int64(20 * time.Minute))
	reconcileRemediation(t, "cut")
	awaitRemediation(t, "cut", "cut-1", "")
	setReady(t, "cut-1", corev1.ConditionTrue, "KubeletReady", "")
	waittest.Until(t, "waiting for the record that the node is Ready", func() (any, bool) {
		status := getRemediation(t, "cut").Status
		return status, len(status.Remediated) == 1 && status.Remediated[0].ReadySince != nil
	})
	c.ahead.Add(int64(2 * time.Minute))
	reconcileRemediation(t, "cut")
	awaitRemediation(t, "cut", "", "")
	if got := outOfServiceTaint(getNode(t, "cut-3")); got != "node.kubernetes.io/out-of-service:NoExecute" {
		t.Errorf("the taint of the administrator is %q", got)
	}
}
