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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// The nodes are upgraded one after the other; a failure stops the rollout until a person removes it.
func TestControlPlaneRollout(t *testing.T) {
	joinPool(t, "rolled", "rolled-1", "rolled-2", "rolled-3")
	createRollout(t, "rolled", v1alpha1.NodeRolloutSpec{})
	c := startController(t)
	awaitRollout(t, "rolled", "3 nodes, 0 updated, 0 unavailable, 0 failed: "+
		"the user data of the NodePool is not published")
	publish(t, "rolled", "old")
	awaitRollout(t, "rolled", "3 nodes, 3 updated, 0 unavailable, 0 failed")
	publish(t, "rolled", "new")
	const first = "at most 1 of the nodes may be unavailable"
	awaitRollout(t, "rolled", "3 nodes, 0 updated, 1 unavailable, 0 failed, slot of rolled-1: "+first)
	if config, _ := permissionOf(t, "rolled-1", true); config != "new" {
		t.Errorf("permitted is configuration %s", config)
	}
	reportAs(t, "rolled-1", map[string]string{v1alpha1.AnnotationState: string(v1alpha1.AgentUpgrading)})
	setReady(t, "rolled-1", corev1.ConditionUnknown, "NodeStatusUnknown", "")
	awaitPhase(t, "rolled-1", v1alpha1.PhaseUpgrading, "")
	reportAs(t, "rolled-1", map[string]string{v1alpha1.AnnotationCurrentConfig: "new"})
	setReady(t, "rolled-1", corev1.ConditionTrue, "KubeletReady", "")
	reportAs(t, "rolled-1", map[string]string{v1alpha1.AnnotationState: string(v1alpha1.AgentHealthy)})
	awaitRollout(t, "rolled", "3 nodes, 1 updated, 1 unavailable, 0 failed, slot of rolled-2: "+first)
	permissionOf(t, "rolled-1", false)

	_, slot := permissionOf(t, "rolled-2", true)
	reportAs(t, "rolled-2", map[string]string{
		v1alpha1.AnnotationFailedSlot: slot, v1alpha1.AnnotationFailure: "kubelet did not start",
	})
	status := awaitRollout(t, "rolled",
		"3 nodes, 1 updated, 0 unavailable, 1 failed: failed upgrades: 1, first that of rolled-2")
	if len(status.Failures) != 1 || status.Failures[0].Reason != "kubelet did not start" {
		t.Errorf("the failures are %+v", status.Failures)
	}
	permissionOf(t, "rolled-2", false)
	awaitPhase(t, "rolled-2", v1alpha1.PhaseFailed, "the upgrade failed: kubelet did not start")

	retry(t, "rolled")
	awaitRollout(t, "rolled", "3 nodes, 1 updated, 1 unavailable, 0 failed, slot of rolled-2: "+first)
	if _, again := permissionOf(t, "rolled-2", true); again == slot {
		t.Error("the second attempt has the slot of the first one")
	}
	reportAs(t, "rolled-2", map[string]string{
		v1alpha1.AnnotationCurrentConfig: "new", v1alpha1.AnnotationFailedSlot: "",
	})
	awaitRollout(t, "rolled", "3 nodes, 2 updated, 1 unavailable, 0 failed, slot of rolled-3")
	csrtest.DeleteNode(t, "rolled-3")
	awaitRollout(t, "rolled", "2 nodes, 2 updated, 0 unavailable, 0 failed")

	const permitted = "Normal UpgradePermitted may be upgraded to configuration new"
	const completed = "Normal UpgradeCompleted upgraded to configuration new"
	checkUpgradeEvents(t, map[string][]string{
		"rolled-1": {completed, permitted},
		"rolled-2": {
			completed, permitted, permitted,
			"Warning UpgradeFailed the upgrade to configuration new failed: kubelet did not start",
		},
	})
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}

// checkUpgradeEvents checks the Events about upgrades of nodes.
func checkUpgradeEvents(t *testing.T, wanted map[string][]string) {
	t.Helper()
	for node, want := range wanted {
		var got []string
		waittest.Until(t, "waiting for all Events of "+node, func() (any, bool) {
			got = slices.DeleteFunc(eventsOf(t, node), func(event string) bool { return !strings.Contains(event, " Upgrade") })
			return got, len(got) >= len(want)
		})
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Events of %s (-want +got):\n%s", node, diff)
		}
	}
}

// Without a NodeRollout a node keeps no permission.
func TestControlPlaneDeletedRollout(t *testing.T) {
	joinPool(t, "deleted", "deleted-1")
	publish(t, "deleted", "new")
	object := createRollout(t, "deleted", v1alpha1.NodeRolloutSpec{})
	startController(t)
	permissionOf(t, "deleted-1", true)
	if err := adminClient(t).Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	permissionOf(t, "deleted-1", false)
}

// A node that is rolled back by hand is not upgraded again, until an administrator permits it.
func TestControlPlaneRolloutAfterRollback(t *testing.T) {
	joinPool(t, "reverted", "reverted-1", "reverted-2")
	publish(t, "reverted", "new")
	createRollout(t, "reverted", v1alpha1.NodeRolloutSpec{MaxFailures: 1})
	startController(t)
	report := func(node, config string) {
		reportAs(t, node, map[string]string{v1alpha1.AnnotationCurrentConfig: config})
	}
	permissionOf(t, "reverted-1", true)
	report("reverted-1", "new")
	permissionOf(t, "reverted-2", true)
	report("reverted-2", "new")
	awaitRollout(t, "reverted", "2 nodes, 2 updated, 0 unavailable, 0 failed")
	report("reverted-1", "old")
	status := awaitRollout(t, "reverted", "2 nodes, 1 updated, 0 unavailable, 1 failed")
	want := "the node had the configuration, and now reports configuration old: it was rolled back"
	if status.Failures[0].Reason != want {
		t.Errorf("the failures are %+v", status.Failures)
	}
	waittest.Until(t, "waiting for the record to be removed", func() (any, bool) {
		got := getEnrollment(t, "reverted-1").Status.ReachedConfig
		return got, got == ""
	})
	retry(t, "reverted")
	permissionOf(t, "reverted-1", true)
	report("reverted-1", "new")
	awaitRollout(t, "reverted", "2 nodes, 2 updated, 0 unavailable, 0 failed")
}

// A node that reports falsely gets no other node upgraded, and takes no slot away.
func TestControlPlaneRolloutWithLyingNode(t *testing.T) {
	joinPool(t, "lied", "lied-1", "lied-2")
	publish(t, "lied", "new")
	createRollout(t, "lied", v1alpha1.NodeRolloutSpec{Paused: true})
	startController(t)
	awaitRollout(t, "lied", "2 nodes, 0 updated, 0 unavailable, 0 failed: the NodeRollout is paused")
	reportAs(t, "lied-1", map[string]string{
		v1alpha1.AnnotationDesiredConfig: "new", v1alpha1.AnnotationSlot: "1", v1alpha1.AnnotationFailedSlot: "1",
		v1alpha1.AnnotationFailure:  strings.Repeat("\x1b[31mred", 10_000),
		v1alpha1.AnnotationReported: "9999-12-31T23:59:59Z",
		v1alpha1.AnnotationRelease:  "4.21\n4.22", v1alpha1.AnnotationCertificateExpires: "never",
	})
	permissionOf(t, "lied-1", false)
	status := awaitPhase(t, "lied-1", v1alpha1.PhaseFailed, `the upgrade failed: \x1b[31mred`)
	if len(status.Reason) > maxMessageLength || status.Release != "" || status.CertificateExpires != nil ||
		status.LastReport.After(time.Now()) {
		t.Errorf("the status is %+v", status)
	}
	awaitRollout(t, "lied", "2 nodes, 0 updated, 0 unavailable, 0 failed: the NodeRollout is paused")
}

// An outage of all nodes, with one that has its slot and has not begun, gives no slots, and withdraws that one.
func TestControlPlaneRolloutInOutage(t *testing.T) {
	names := []string{"outage-1", "outage-2", "outage-3"}
	joinPool(t, "outage", names...)
	publish(t, "outage", "new")
	createRollout(t, "outage", v1alpha1.NodeRolloutSpec{})
	startController(t)
	permissionOf(t, "outage-1", true)
	for _, name := range names {
		setReady(t, name, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	}
	awaitRollout(t, "outage",
		"3 nodes, 0 updated, 3 unavailable, 0 failed: 3 of the nodes are unavailable, at most 1 may be")
	permissionOf(t, "outage-1", false)
	for _, name := range names {
		setReady(t, name, corev1.ConditionTrue, "KubeletReady", "")
	}
	status := awaitRollout(t, "outage", "3 nodes, 0 updated, 1 unavailable, 0 failed, slot of outage-1: "+
		"at most 1 of the nodes may be unavailable")
	if _, slot := permissionOf(t, "outage-1", true); slot != slotID(status.Slots[0]) {
		t.Errorf("the slot is %s, the NodeRollout has %+v", slot, status.Slots)
	}
}

// A node that leaves the NodePool with a slot loses its permission before another node gets one.
func TestControlPlaneRolloutOfDeletedEnrollment(t *testing.T) {
	joinPool(t, "left", "left-1", "left-2")
	publish(t, "left", "new")
	createRollout(t, "left", v1alpha1.NodeRolloutSpec{})
	startController(t)
	permissionOf(t, "left-1", true)
	reportAs(t, "left-1", map[string]string{v1alpha1.AnnotationState: string(v1alpha1.AgentUpgrading)})
	awaitPhase(t, "left-1", v1alpha1.PhaseUpgrading, "")
	deleteEnrollment(t, "left-1")
	awaitRollout(t, "left", "1 nodes, 0 updated, 1 unavailable, 0 failed, slot of left-1: "+
		"at most 1 of the nodes may be unavailable")
	csrtest.DeleteNode(t, "left-1")
	change(t, getRollout(t, "left"), func(object *v1alpha1.NodeRollout) {
		object.Spec.MaxFailures = 1 // without this change, the slot is free after leftInterval
	})
	permissionOf(t, "left-2", true)

	joinPool(t, "left", "left-0")
	deleteEnrollment(t, "left-2")
	awaitRollout(t, "left", "1 nodes, 0 updated, 1 unavailable, 0 failed, slot of left-0")
	permissionOf(t, "left-2", false)
}

// The labels of a NodeEnrollment select the canaries, not those that a node sets on itself.
func TestControlPlaneCanaries(t *testing.T) {
	joinPool(t, "canary", "canary-1", "canary-2", "canary-3")
	for _, name := range []string{"canary-1", "canary-2"} {
		patch := []byte(`{"metadata":{"labels":{"example.com/canary":"true"}}}`)
		_, err := csrtest.NodeClient(t, name).CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch,
			metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(t, getEnrollment(t, "canary-3"), func(object *v1alpha1.NodeEnrollment) {
		object.Spec.Labels = map[string]string{"example.com/canary": "true"}
	})
	publish(t, "canary", "new")
	two := intstr.FromInt32(2)
	createRollout(t, "canary", v1alpha1.NodeRolloutSpec{
		MaxUnavailable: &two,
		Canary:         &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/canary": "true"}},
	})
	startController(t)
	awaitRollout(t, "canary",
		"3 nodes, 0 updated, 1 unavailable, 0 failed, slot of canary-3: the canary nodes are upgraded first")
	reportAs(t, "canary-3", map[string]string{v1alpha1.AnnotationCurrentConfig: "new"})
	awaitRollout(t, "canary", "3 nodes, 1 updated, 2 unavailable, 0 failed, slot of canary-1, slot of canary-2")
}
