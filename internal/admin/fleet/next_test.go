// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestNext(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	later, before := now.Add(time.Hour), now.Add(-time.Hour)
	client := approver.CSRSummary{Name: "csr-1", State: approver.CSRPending, Key: "SHA256:00"}
	serving := approver.CSRSummary{
		Name: "csr-2\x1b", State: approver.CSRPending, Key: "SHA256:01",
		Signer: certificatesv1.KubeletServingSignerName, Addresses: []string{"192.0.2.1"},
	}
	issued := approver.CSRSummary{Name: "csr-3", State: approver.CSRIssued, Key: "SHA256:00"}
	enrolled := func(phase v1alpha1.Phase, usedKey, reason string, expires time.Time) *v1alpha1.NodeEnrollment {
		object := &v1alpha1.NodeEnrollment{}
		object.Spec.Expires = metav1.NewTime(expires)
		object.Status = v1alpha1.NodeEnrollmentStatus{Phase: phase, Reason: reason}
		if usedKey != "" {
			object.Spec.UsedBy = &v1alpha1.TokenUse{Key: usedKey}
		}
		return object
	}
	node := &corev1.Node{}
	notReady := &corev1.Node{Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "False", Message: "no network"}},
	}}
	cordoned := &corev1.Node{
		Spec:   corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True"}}},
	}
	given := now.Add(-4 * time.Minute)
	reporting := func(node *corev1.Node, state, reason string) *corev1.Node {
		node = node.DeepCopy()
		node.Annotations = map[string]string{v1alpha1.AnnotationState: state, v1alpha1.AnnotationReason: reason}
		return node
	}
	expiring := enrolled("Ready", "a", "", later)
	expiring.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionCertificateExpiring, Status: metav1.ConditionTrue, Message: "it expires today"},
	}
	deleted := enrolled("", "", "", later)
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	for name, test := range map[string]struct {
		in   Description
		want []string
	}{
		"ready": {Description{Enrollment: enrolled("Ready", "a", "", later), Node: node}, nil},
		"token not used": {
			Description{Enrollment: enrolled("", "", "", later)},
			[]string{"no host has used the join token, which is valid until 2026-11-27T13:00:00Z"},
		},
		"token expired": {
			Description{Enrollment: enrolled("", "", "", before)},
			[]string{"the join token has expired, and no host has used it"},
		},
		"expired, approved by hand": {
			Description{Enrollment: enrolled("Ready", "", "", before), Node: node}, nil,
		},
		"no Node": {
			Description{Enrollment: enrolled("", "a", "", before)},
			[]string{"a host has used the join token, but its Node does not exist"},
		},
		"lost": {
			Description{Enrollment: enrolled("Lost", "a", "kubelet stopped", later), Node: node},
			[]string{"the node is Lost: kubelet stopped"},
		},
		"invalid": {
			Description{Enrollment: enrolled("", "", "", later), Invalid: "publicKey: wrong"},
			[]string{"the NodeEnrollment is invalid: publicKey: wrong"},
		},
		"not Ready, with the agent's diagnosis": {
			Description{
				Enrollment: enrolled("Failed", "a", "container runtime network not ready", later),
				Node:       reporting(notReady, "Degraded", "the network plugin is not running"),
			},
			[]string{"the agent reports: the network plugin is not running"},
		},
		"Ready, with a problem on the host": {
			Description{
				Enrollment: enrolled("Ready", "a", "", later),
				Node:       reporting(node, "Degraded", "registry r rejects the pull secret"),
			},
			[]string{"the agent reports: registry r rejects the pull secret"},
		},
		"joined, not Ready yet": {
			Description{Enrollment: enrolled("Joined", "a", "", later), Node: notReady},
			[]string{"the Node is not Ready: no network"},
		},
		"joined, nothing reported": {
			Description{Enrollment: enrolled("Joined", "a", "", later), Node: node},
			[]string{"the Node has not reported yet whether it is Ready"},
		},
		"healthy": {
			Description{
				Enrollment: enrolled("Ready", "a", "", later), Node: reporting(node, "Healthy", "old"),
			}, nil,
		},
		"cordoned in its upgrade": {
			Description{
				Enrollment: enrolled("Joined", "a", "", later), Node: reporting(cordoned, "Upgrading", "step kubelet"),
				slot: &given,
			},
			[]string{
				"upgrade in progress since 2026-11-27T11:56:00Z (step kubelet); the agent has cordoned the Node, and uncordons " +
					"it at the end",
			},
		},
		"cordoned in its upgrade, by the phase": {
			Description{Enrollment: enrolled("Upgrading", "a", "", later), Node: cordoned},
			[]string{"upgrade in progress; the agent has cordoned the Node, and uncordons it at the end"},
		},
		"lost in its upgrade": {
			Description{
				Enrollment: enrolled("Lost", "a", "kubelet stopped", later), Node: reporting(notReady, "Upgrading", "step kubelet"),
			},
			[]string{
				"upgrade in progress (step kubelet), but the node is Lost: kubelet stopped",
				"upgrade in progress (step kubelet); the agent has cordoned the Node, and uncordons it at the end",
			},
		},
		"Ready, without a report of the agent": {
			Description{Enrollment: enrolled("Ready", "a", "the agent has not reported since yesterday", later), Node: cordoned},
			[]string{
				"the node is Ready: the agent has not reported since yesterday",
				"the Node is cordoned: no pods are scheduled on it",
			},
		},
		"Nodes cannot be read": {
			Description{Enrollment: enrolled("Failed", "a", "no network", later), Unreadable: []string{"nodes"}},
			[]string{"the node is Failed: no network"},
		},
		"a certificate is not renewed": {
			Description{Enrollment: expiring, Node: cordoned},
			[]string{"a certificate is not renewed: it expires today", "the Node is cordoned: no pods are scheduled on it"},
		},
		"deleted": {
			Description{Enrollment: deleted, Invalid: "a"}, []string{"the NodeEnrollment is being deleted"},
		},
		"cordoned, without an enrollment": {
			Description{Node: cordoned},
			[]string{
				"the Node has no NodeEnrollment, so that the controller does not approve its CSRs",
				"the Node is cordoned: no pods are scheduled on it",
			},
		},
		"CSRs": {
			Description{
				Enrollment: enrolled("Ready", "a", "", later), Node: node,
				CSRs: []approver.CSRSummary{issued, client, serving, {Name: "unusable", State: approver.CSRPending}},
			},
			[]string{"the client CSR csr-1 is pending", `the serving CSR "csr-2\x1b" is pending, for 192.0.2.1`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lists.Map(test.in.next(now), func(one report.Problem) string { return one.Message })
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, one := range test.in.next(now) {
				if test.in.isUpgrading() && strings.Contains(string(one.Remedy), "uncordon") {
					t.Errorf("a remedy interferes with the upgrade: %s", one.Remedy)
				}
			}
		})
	}
}
