// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// joinedNode returns a node that has the node's credential.
func joinedNode(t *testing.T, name string) (*Node, *reporttest.Recorder) {
	t.Helper()
	recorded := &reporttest.Recorder{}
	node, err := OpenNode(kubetest.NodeKubeconfig(t, name), name, kubetest.NoProxy, recorded.Log())
	if err != nil {
		t.Fatal(err)
	}
	node.BootID, node.Host.CNIDirectory = "this-boot", t.TempDir()
	return node, recorded
}

// reportReady patches the Node's status as kubelet does.
func reportReady(t *testing.T, node *Node, status corev1.ConditionStatus, message string) {
	t.Helper()
	now := metav1.Now()
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		NodeInfo: corev1.NodeSystemInfo{BootID: "this-boot"},
		Conditions: []corev1.NodeCondition{{
			Type:               corev1.NodeReady,
			Status:             status,
			Reason:             "ForTest",
			Message:            message,
			LastHeartbeatTime:  now,
			LastTransitionTime: now,
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	kubetest.PatchNodeStatus(t, node.Conn, node.Name, patch)
}

func TestControlPlaneWaitReadyAndSchedulable(t *testing.T) {
	node, recorded := joinedNode(t, "ready")
	done := make(chan error)
	go func() { done <- node.WaitReady(waittest.Context(t)) }()
	waittest.UntilText(t, "waiting for kubelet to register Node ready", recorded.Text)
	kubetest.CreateNode(t, node.Conn, node.Name,
		corev1.Taint{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule})
	reportReady(t, node, corev1.ConditionFalse, cniMessage)
	waittest.UntilText(t, "the network plugin has not written its configuration", recorded.Text)
	reportReady(t, node, corev1.ConditionTrue, "")
	if err := <-done; err != nil {
		t.Fatalf("WaitReady() = %v", err)
	}

	err := node.WaitSchedulable(recorded.DeadlineAt(t, "waiting for Node ready to become schedulable"))
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "taint team=blue:NoSchedule") ||
		!strings.Contains(string(report.RemedyOf(err)), "oc adm taint node ready team-") {
		t.Errorf("WaitSchedulable() = %v (%s)", err, report.RemedyOf(err))
	}
	requesting := *node
	requesting.RequestedTaints = []string{"team=blue:NoSchedule"}
	if err := requesting.WaitSchedulable(waittest.Context(t)); err != nil {
		t.Errorf("WaitSchedulable() = %v with a taint that the configuration requests", err)
	}
	go func() { done <- node.WaitSchedulable(waittest.Context(t)) }()
	_, err = kubetest.AdminClient(t).CoreV1().Nodes().Patch(t.Context(), node.Name, types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/spec/taints"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("WaitSchedulable() = %v", err)
	}
}

func TestControlPlaneReadyRequiresCurrentReport(t *testing.T) {
	node, recorded := joinedNode(t, "old-boot")
	kubetest.CreateNode(t, node.Conn, node.Name)
	reportReady(t, node, corev1.ConditionTrue, "")
	node.BootID = "a-later-boot"
	if err := node.WaitReady(recorded.DeadlineAt(t, "another boot")); err == nil ||
		!strings.Contains(err.Error(), "another boot (this-boot, this boot is a-later-boot)") {
		t.Errorf("WaitReady() = %v for a Node that an earlier boot left Ready", err)
	}
	node.BootID, node.ReportedSince = "this-boot", time.Now().Add(time.Hour)
	if err := node.WaitReady(recorded.DeadlineAt(t, "Ready: kubelet has not reported its status yet")); err == nil {
		t.Error("WaitReady() = nil for a Node that an earlier kubelet process left Ready")
	}
}

func TestControlPlaneCordonAndEvict(t *testing.T) {
	node, recorded := joinedNode(t, "leaving")
	kubetest.CreateNode(t, node.Conn, node.Name)
	reportReady(t, node, corev1.ConditionTrue, "")
	if err := node.Cordon(waittest.Context(t), ForLeave); err != nil {
		t.Fatalf("Cordon() = %v", err)
	}
	current, err := kubetest.AdminClient(t).CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
	if err != nil || !current.Spec.Unschedulable {
		t.Fatalf("the Node is not cordoned: %v", err)
	}

	guarded := createReadyPod(t, node.Name, "guarded")
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "keep-one", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &intstr.IntOrString{IntVal: 1},
			Selector:     &metav1.LabelSelector{MatchLabels: guarded.Labels},
		},
	}
	if _, err := kubetest.AdminClient(t).PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "waiting for the PodDisruptionBudget to be in effect", func() (any, bool) {
		b, err := kubetest.AdminClient(t).PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "keep-one",
			metav1.GetOptions{})
		return fmt.Sprint(b, err), err == nil && b.Status.ObservedGeneration == b.Generation && b.Status.DesiredHealthy == 1
	})

	if err := node.Evict(waittest.Context(t), false); report.CodeOf(err) != report.Refused ||
		!strings.Contains(err.Error(), "default/guarded") {
		t.Errorf("Evict() = %v, want a refusal to lose a pod", err)
	}
	err = node.Evict(recorded.DeadlineAt(t, "eviction is not allowed yet"), true)
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "default/guarded") ||
		!strings.Contains(err.Error(), "keep-one") {
		t.Errorf("Evict() = %v, want the PodDisruptionBudget named", err)
	}
	if err := kubetest.AdminClient(t).PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "keep-one",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- node.Evict(waittest.Context(t), true) }()
	waittest.Until(t, "waiting for the eviction", func() (any, bool) {
		p, err := kubetest.AdminClient(t).CoreV1().Pods("default").Get(t.Context(), "guarded", metav1.GetOptions{})
		return fmt.Sprint(p, err), err == nil && p.DeletionTimestamp != nil
	})
	var at int64 // there is no kubelet to end the pod
	if err := kubetest.AdminClient(t).CoreV1().Pods("default").Delete(t.Context(), "guarded",
		metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Evict() = %v", err)
	}

	// The next join removes the agent's own cordon.
	if err := node.WaitSchedulable(waittest.Context(t)); err != nil ||
		!strings.Contains(recorded.Text(), "uncordoning it") {
		t.Errorf("WaitSchedulable() after leave = %v", err)
	}
	unschedulable := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := kubetest.AdminClient(t).CoreV1().Nodes().Patch(t.Context(), node.Name, types.MergePatchType,
		unschedulable, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	err = node.WaitSchedulable(recorded.DeadlineAt(t, "waiting for Node leaving to become schedulable"))
	if !strings.Contains(string(report.RemedyOf(err)), "oc adm uncordon leaving") {
		t.Errorf("WaitSchedulable() = %v (%s), want an administrator's cordon left alone", err, report.RemedyOf(err))
	}
}

// createReadyPod creates a ready pod that is bound to the node.
func createReadyPod(t *testing.T, node, name string) *corev1.Pod {
	t.Helper()
	pods := kubetest.AdminClient(t).CoreV1().Pods("default")
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if p, err = pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// A pod that replaced an evicted one under its name, for example of a StatefulSet, must not be evicted too.
func TestControlPlaneEvictionSparesReplacement(t *testing.T) {
	node, _ := joinedNode(t, "replacing")
	kubetest.CreateNode(t, node.Conn, node.Name)
	former := createReadyPod(t, node.Name, "replaced")
	pods, at := kubetest.AdminClient(t).CoreV1().Pods("default"), int64(0)
	if err := pods.Delete(t.Context(), former.Name, metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil {
		t.Fatal(err)
	}
	replacement := createReadyPod(t, node.Name, "replaced")
	if blocked, err := node.evictPods(waittest.Context(t), []*corev1.Pod{former}); len(blocked) > 0 ||
		err != nil {
		t.Errorf("evictPods() = %q, %v", blocked, err)
	}
	now, err := pods.Get(t.Context(), replacement.Name, metav1.GetOptions{})
	if err != nil || now.UID != replacement.UID || now.DeletionTimestamp != nil {
		t.Errorf("the replacement was evicted: deletion %v, %v", now.DeletionTimestamp, err)
	}
}
