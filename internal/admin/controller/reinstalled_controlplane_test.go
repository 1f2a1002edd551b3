// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// A reinstalled host joins again with the same join token if its enrollment permits this, while its Node is not Ready.
// Its key replaces that of the former disk. The key that kubelet has after a renewal does not.
func TestControlPlaneSameTokenAgain(t *testing.T) {
	c := startController(t)
	token, object := newEnrollment(t, "same-token", csrtest.ClusterCA(t), "192.0.2.96")
	object.Spec.Reinstall = v1alpha1.ReinstallAllowSameToken
	create(t, object)
	first, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(first)
	former := getEnrollment(t, "same-token").Spec.UsedBy.Key
	csrtest.CreateNode(t, "same-token", "192.0.2.96")
	setReady(t, "same-token", corev1.ConditionTrue, "KubeletReady", "")
	c.awaitApproved(servingCSR(t, "same-token", "192.0.2.96"))
	if got := getEnrollment(t, "same-token").Spec.UsedBy.Key; got != former {
		t.Errorf("the serving certificate has replaced the key %s by %s", former, got)
	}
	second, key := csrtest.SubmitWithToken(t, token)
	c.awaitDecision(second, approver.Refused, "Node same-token is Ready, so its machine was not reinstalled")
	setReady(t, "same-token", corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	c.awaitApproved(second)
	if got, want := getEnrollment(t, "same-token").Spec.UsedBy.Key, enrollment.Fingerprint(&key.PublicKey); got != want {
		t.Errorf("used by %s, want %s", got, want)
	}
}
