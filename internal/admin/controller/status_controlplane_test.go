// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// awaitPhase waits until an enrollment has a phase and a part of its reason, and returns its status.
func awaitPhase(t *testing.T, node string, phase v1alpha1.Phase, reason string) v1alpha1.NodeEnrollmentStatus {
	t.Helper()
	var status v1alpha1.NodeEnrollmentStatus
	waittest.Until(t, fmt.Sprintf("waiting for the phase %s: %s", phase, reason), func() (any, bool) {
		status = getEnrollment(t, node).Status
		return status, status.Phase == phase && strings.Contains(status.Reason, reason)
	})
	return status
}

// checkConditions checks the status and the reason of the conditions.
func checkConditions(t *testing.T, status v1alpha1.NodeEnrollmentStatus, enrolled, joined, ready string) {
	t.Helper()
	for kind, want := range map[string]string{
		v1alpha1.ConditionEnrolled: enrolled, v1alpha1.ConditionJoined: joined, v1alpha1.ConditionReady: ready,
	} {
		condition := meta.FindStatusCondition(status.Conditions, kind)
		if condition == nil || string(condition.Status)+" "+condition.Reason != want {
			t.Errorf("in phase %s, the condition %s is %+v, want %s", status.Phase, kind, condition, want)
		}
	}
}

// eventsOf returns the Events about an enrollment as "type reason note".
func eventsOf(t *testing.T, node string) []string {
	t.Helper()
	list, err := kubetest.AdminClient(t).EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uid := getEnrollment(t, node).UID
	var all []string
	for _, event := range list.Items {
		if event.Regarding.UID == uid {
			all = append(all, event.Type+" "+event.Reason+" "+event.Note)
		}
	}
	return all
}

func TestControlPlanePhases(t *testing.T) {
	c := startController(t)
	token := enroll(t, "phases", "192.0.2.95")
	checkConditions(t, awaitPhase(t, "phases", v1alpha1.PhasePending, "no host has used the join token"),
		"False TokenUnused", "False NoNode", "False NoNode")
	client, _ := csrtest.SubmitWithToken(t, token)
	checkConditions(t, awaitPhase(t, "phases", v1alpha1.PhaseEnrolled, "its Node does not exist yet"),
		"True TokenUsed", "False NoNode", "False NoNode")
	c.awaitApproved(client)
	csrtest.CreateNode(t, "phases", "192.0.2.95")
	checkConditions(t, awaitPhase(t, "phases", v1alpha1.PhaseJoined, "kubelet has not reported yet"),
		"True TokenUsed", "True NodeExists", "False NoReport")
	setReady(t, "phases", corev1.ConditionFalse, "KubeletNotReady", "the network is not ready")
	checkConditions(t, awaitPhase(t, "phases", v1alpha1.PhaseJoined, "the network is not ready"),
		"True TokenUsed", "True NodeExists", "False KubeletNotReady")
	setReady(t, "phases", corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	checkConditions(t, awaitPhase(t, "phases", v1alpha1.PhaseReady, ""),
		"True TokenUsed", "True NodeExists", "True KubeletReady")
	serving := servingCSR(t, "phases", "192.0.2.95")
	c.awaitApproved(serving)
	setReady(t, "phases", corev1.ConditionFalse, "KubeletNotReady", "the runtime is down")
	awaitPhase(t, "phases", v1alpha1.PhaseFailed, "the runtime is down")
	setReady(t, "phases", corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	checkConditions(t, awaitPhase(t, "phases", v1alpha1.PhaseLost, "Kubelet stopped posting node status."),
		"True TokenUsed", "True NodeExists", "Unknown NodeStatusUnknown")
	setReady(t, "phases", corev1.ConditionTrue, "KubeletReady", "")
	awaitPhase(t, "phases", v1alpha1.PhaseReady, "")
	csrtest.DeleteNode(t, "phases")
	status := awaitPhase(t, "phases", v1alpha1.PhaseLost, "the Node was deleted")
	checkConditions(t, status, "True TokenUsed", "False NodeDeleted", "False NodeDeleted")
	if status.ClientCSR != client || status.ServingCSR != serving || getEnrollment(t, "phases").Spec.UsedBy == nil {
		t.Errorf("the status is %+v", status)
	}

	want := []string{
		"Normal NodePending no host has used the join token",
		"Normal CSRApproved approved " + client + " for kubernetes.io/kube-apiserver-client-kubelet",
		"Normal NodeEnrolled the host has used the join token; its Node does not exist yet",
		"Normal NodeJoined kubelet has not reported yet",
		"Normal NodeReady the node is Ready",
		"Normal CSRApproved approved " + serving + " for kubernetes.io/kubelet-serving",
		"Warning NodeFailed the runtime is down",
		"Warning NodeLost Kubelet stopped posting node status.",
		"Normal NodeReady the node is Ready",
		"Warning NodeLost the Node was deleted",
	}
	var got []string
	waittest.UntilTrue(t, "the Events", func() bool { got = eventsOf(t, "phases"); return len(got) >= len(want) })
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the Events are %q, want %q", got, want)
	}
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}

// The phase of an unused join token changes when it expires, without a change of an object.
func TestControlPlaneExpiredEnrollment(t *testing.T) {
	c := startController(t)
	token, object := newEnrollment(t, "expiring", csrtest.ClusterCA(t))
	object.Spec.Expires = metav1.NewTime(time.Now().Add(3 * time.Second))
	create(t, object)
	awaitPhase(t, "expiring", v1alpha1.PhasePending, "")
	awaitPhase(t, "expiring", v1alpha1.PhaseFailed, "the join token has expired")
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitDecision(csr, approver.Refused, "of node expiring expired at")
	checkPending(t, csr)
	waittest.UntilTrue(t, "the Event of the refusal", func() bool {
		return slices.ContainsFunc(eventsOf(t, "expiring"), func(event string) bool {
			return strings.HasPrefix(event, "Warning CSRNotApproved "+csr+": join token "+token.ID)
		})
	})

	change(t, getEnrollment(t, "expiring"), func(object *v1alpha1.NodeEnrollment) {
		object.Spec.Expires = metav1.NewTime(time.Now().Add(time.Hour))
	})
	c.awaitApproved(csr)
	awaitPhase(t, "expiring", v1alpha1.PhaseEnrolled, "")
}

// The API server accepts an address that is none. No CSR is approved by such an enrollment.
func TestControlPlaneUnusableEnrollment(t *testing.T) {
	c := startController(t)
	token, object := newEnrollment(t, "unusable", csrtest.ClusterCA(t))
	object.Spec.Addresses = []string{"192.0.2.300"}
	create(t, object)
	awaitPhase(t, "unusable", v1alpha1.PhaseFailed, `the enrollment is invalid: addresses: "192.0.2.300" is not`)
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitDecision(csr, approver.Ignored, "no enrollment exists for its join token")
	checkPending(t, csr)
	change(t, getEnrollment(t, "unusable"), func(object *v1alpha1.NodeEnrollment) {
		object.Spec.Addresses = []string{"192.0.2.30"}
	})
	c.awaitApproved(csr)
}

// A user of a node's credential can write any text into its Node.
func TestControlPlaneHostileNodeStatus(t *testing.T) {
	c := startController(t)
	enroll(t, "hostile")
	csrtest.CreateNode(t, "hostile")
	setReady(t, "hostile", corev1.ConditionFalse, "not a reason!", strings.Repeat("a long message ", 10_000))
	status := awaitPhase(t, "hostile", v1alpha1.PhaseJoined, "a long message")
	checkConditions(t, status, "False TokenUnused", "True NodeExists", "False NodeNotReady")
	if len(status.Reason) > maxMessageLength {
		t.Errorf("the reason has %d bytes", len(status.Reason))
	}
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}
