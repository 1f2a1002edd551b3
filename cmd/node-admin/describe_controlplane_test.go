// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const hostileText = "\x1b[2J\x1b]0;title\x07\r\nok \u009b31m\u202e"

func (h *hostedCluster) testDescribe(t *testing.T) {
	token := h.enroll(t, "described", func(object *v1alpha1.NodeEnrollment) {
		object.Spec.Addresses = []string{"192.0.2.7"}
		object.Spec.UsedBy = &v1alpha1.TokenUse{Key: "SHA256:00", At: *at(-time.Hour)}
		object.Status = v1alpha1.NodeEnrollmentStatus{
			Phase: v1alpha1.PhaseFailed, Reason: "kubelet stopped",
			Conditions: []metav1.Condition{{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NodeNotReady", Message: hostileText,
				LastTransitionTime: *at(-10*24*time.Hour - 12*time.Hour),
			}},
		}
	})
	csrtest.CreateNode(t, "described", "192.0.2.7")
	h.patchNode(t, "described", map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{
			v1alpha1.AnnotationState:  "Degraded",
			v1alpha1.AnnotationReason: strings.Repeat(hostileText, 8000), // 192 KB
		}},
		"spec": map[string]any{"unschedulable": true},
	})
	client, _ := csrtest.SubmitWithToken(t, token)
	serving := csrtest.ServingRequest{Node: "described", Addresses: []string{"192.0.2.7"}}.Submit(t)
	h.createEvent(t, "Node", "described", "Rebooted", hostileText, at(-9*24*time.Hour-12*time.Hour))
	h.createEvent(t, "NodeEnrollment", "described", "NodeFailed", "kubelet stopped", at(-8*24*time.Hour-12*time.Hour))
	h.createEvent(t, "Pod", "described", "Killing", "another object", at(0))

	got := h.exec(t, "describe", "described")
	at := 0
	for _, want := range []string{
		"described: the agent reports: [2J]0;title  ok 31m",
		"Name:               described\nPhase:              Failed\n", "Reason:             kubelet stopped\n",
		"\nEnrollment:\n", "  Token expires:    ", "  Addresses:        192.0.2.7\n", "  Used key:         SHA256:00\n",
		"  Ready:            False since 10d: NodeNotReady: [2J]0;title  ok 31m\n",
		"\nNode:\n", "  Addresses:        Hostname=described, InternalIP=192.0.2.7\n", "  Cordoned:         yes\n",
		"\nAgent, as the node itself reports:\n  State:            Degraded\n  Reason:           [2J]0;title  ok 31m",
		"\nCSRs:\n", "\nEvents:\n", "  9d     Warning  Rebooted: [2J]0;title  ok 31m\n",
		"  8d     Warning  NodeFailed: kubelet stopped\n",
		"\nNext:\n", "\n  - find the cause of the state in the first line\n# remedy: on the host\nhcp-node-agent doctor\n",
		"\nhcp-node-admin approve described\n", "\noc adm uncordon described\n",
	} {
		found := strings.Index(got.Out[at:], want)
		if found < 0 {
			t.Fatalf("%q is not printed, or not in this order: %+v\n%s", want, got, got.Out)
		}
		at += found
	}
	if len(got.Out) > 8000 || strings.ContainsAny(got.Out, "\x1b\x07\r\u009b\u202e") ||
		!strings.Contains(got.Out, serving) ||
		!strings.Contains(got.Out, client+": client, Pending, age ") ||
		strings.Contains(got.Out, "another object") {
		t.Errorf("%d bytes: %q", len(got.Out), got.Out)
	}
	h.checkDescription(t, client)
	h.checkDescribePermissions(t)
}

func (h *hostedCluster) checkDescription(t *testing.T, client string) {
	t.Helper()
	out := h.exec(t, "describe", "described", "-o", "json").Out
	document := clitest.DecodeDocument(t, out)
	csrs, _ := document["csrs"].([]any)
	var reasons []string
	for _, one := range document["events"].([]any) {
		// The control plane's own node controller records RegisteredNode within 5 s.
		if event := one.(map[string]any); event["source"] != "node-controller" {
			reasons = append(reasons, event["reason"].(string))
		}
	}
	if document["kind"] != "NodeDescription" || len(csrs) != 2 || strings.ContainsAny(out, "\x1b\u009b\u202e") ||
		!slices.Equal(reasons, []string{"Rebooted", "NodeFailed"}) || !strings.Contains(out, client) {
		t.Errorf("the document is %s", out)
	}
	unknown := h.exec(t, "describe", "worker-9")
	if unknown.Code != report.Usage ||
		!strings.Contains(unknown.Err, "neither a NodeEnrollment nor a Node worker-9 exists") {
		t.Errorf("unknown node: %+v", unknown)
	}
	csrtest.CreateNode(t, "described-alone")
	alone := h.exec(t, "describe", "described-alone", "-o", "json")
	if alone.Code != report.Success || !strings.Contains(alone.Out, "the Node has no NodeEnrollment") {
		t.Errorf("a Node without a NodeEnrollment: %+v", alone)
	}
	// The schema of the API accepts a key that is none.
	h.enroll(t, "invalid", func(object *v1alpha1.NodeEnrollment) {
		object.Spec.PublicKey = "-----BEGIN PUBLIC KEY-----\nedited\x1b[2J\n-----END PUBLIC KEY-----\n"
	})
	invalid := h.exec(t, "describe", "invalid")
	if invalid.Code != report.Success || !strings.Contains(invalid.Out, "\n  Invalid:          publicKey: ") {
		t.Errorf("an invalid NodeEnrollment: %+v", invalid)
	}
	edited := h.exec(t, "describe", "invalid", "-o", "json").Out
	if wrong := admin().ValidateDocuments(t, out, alone.Out, edited); wrong != "" {
		t.Error(wrong)
	}
}

func (h *hostedCluster) checkDescribePermissions(t *testing.T) {
	t.Helper()
	h.createNamespace(t)
	h.grant(t, "describer", describeNodePermissions())
	waittest.Until(t, "waiting for all permissions", func() (any, bool) {
		got := h.await(t, "describer", "describe", "described")
		return got, !strings.Contains(got.Out, "not shown")
	})
	h.grant(t, "least-describer", describeNodePermissions()[:1])
	got := h.await(t, "least-describer", "describe", "described")
	for _, resource := range []string{"nodes", "certificatesigningrequests", "events"} {
		if !strings.Contains(got.Out, "not shown: "+resource+", which the credential must not read\n") {
			t.Errorf("without permissions: %+v", got)
		}
	}
	if strings.Contains(got.Out, "does not exist") || strings.Contains(got.Out, "Events:") {
		t.Errorf("without permissions: %+v", got)
	}
}

func (h *hostedCluster) patchNode(t *testing.T, name string, patch map[string]any) {
	t.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.admin.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (h *hostedCluster) createEvent(t *testing.T, kind, name, reason, message string, last *metav1.Time) {
	t.Helper()
	_, err := h.admin.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: name + "-"},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name},
		Reason:         reason, Message: message, Type: corev1.EventTypeWarning,
		LastTimestamp: *last,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
