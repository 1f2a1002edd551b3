// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func labeledNode(t *testing.T) *corev1.Node {
	t.Helper()
	node := &corev1.Node{}
	if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: "labeled"}, node); err != nil {
		t.Fatal(err)
	}
	return node
}

// Labels and taints of the enrollment are set, also those that a kubelet must not set. Others remain.
func TestControlPlaneNodeSettings(t *testing.T) {
	c := startController(t)
	_, object := newEnrollment(t, "labeled", csrtest.ClusterCA(t))
	object.Spec.Labels = map[string]string{"node-role.kubernetes.io/infra": "", "example.com/rack": "7"}
	object.Spec.Taints = []v1alpha1.NodeTaint{{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule}}
	create(t, object)
	csrtest.CreateNode(t, "labeled")
	const role = "node-role.kubernetes.io/infra"
	waittest.Until(t, "waiting for the labels", func() (any, bool) {
		labels := labeledNode(t).Labels
		_, has := labels[role]
		return labels, has
	})

	change(t, labeledNode(t), func(node *corev1.Node) {
		node.Labels["example.com/rack"], node.Labels["other"] = "8", "kept"
		node.Spec.Taints = []corev1.Taint{
			{Key: "team", Value: "red", Effect: corev1.TaintEffectNoSchedule},
			{Key: "team", Value: "red", Effect: corev1.TaintEffectPreferNoSchedule},
		}
	})
	waittest.Until(t, "waiting for the label that was changed", func() (any, bool) {
		labels := labeledNode(t).Labels
		return labels, labels["example.com/rack"] == "7"
	})
	node := labeledNode(t)
	want := []corev1.Taint{
		{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule},
		{Key: "team", Value: "red", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	if diff := cmp.Diff(want, node.Spec.Taints); diff != "" || node.Labels["other"] != "kept" {
		t.Errorf("labels %v, taints (-want +got):\n%s", node.Labels, diff)
	}
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}

	change(t, getEnrollment(t, "labeled"), func(object *v1alpha1.NodeEnrollment) {
		object.Spec.Labels["label"] = "no value!"
	})
	waittest.Until(t, "waiting for the Event about labels that the API server rejects", func() (any, bool) {
		events := eventsOf(t, "labeled")
		return events, slices.ContainsFunc(events, func(event string) bool {
			return strings.HasPrefix(event, "Warning SettingsRejected the labels and taints are not set: ")
		})
	})
}
