// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// The token contains only labels with which kubelet can register. The enrollment contains all, for the controller.
func TestSettingsOfTokenAndEnrollment(t *testing.T) {
	token, record, err := New(Options{
		NodeName: "worker-7", ClusterCA: certtest.NewCA(t, "root").PEM,
		Labels: []string{
			"rack=r1", "node-role.kubernetes.io/infra=", "a.node-restriction.kubernetes.io/b=c", "rack=r2",
			"topology.kubernetes.io/zone=z",
		},
		Taints: []string{"dedicated=gpu:NoSchedule", "infra:NoExecute", "dedicated=cpu:NoSchedule"},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rack=r1", "rack=r2", "topology.kubernetes.io/zone=z"}, token.Labels); diff != "" {
		t.Errorf("labels of the token (-want +got):\n%s", diff)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{
		"rack": "r2", "node-role.kubernetes.io/infra": "", "a.node-restriction.kubernetes.io/b": "c",
		"topology.kubernetes.io/zone": "z",
	}
	if diff := cmp.Diff(wantLabels, object.Spec.Labels); diff != "" {
		t.Errorf("labels of the enrollment (-want +got):\n%s", diff)
	}
	wantTaints := []v1alpha1.NodeTaint{
		{Key: "dedicated", Value: "cpu", Effect: "NoSchedule"}, {Key: "infra", Effect: "NoExecute"},
	}
	if diff := cmp.Diff(wantTaints, object.Spec.Taints); diff != "" {
		t.Errorf("taints of the enrollment (-want +got):\n%s", diff)
	}
	again, err := FromObject(object)
	if err != nil {
		t.Fatal(err)
	}
	same, err := again.Object()
	if diff := cmp.Diff(object, same); diff != "" || err != nil {
		t.Errorf("%v, again (-before +after):\n%s", err, diff)
	}
	for text, want := range map[string]bool{
		"": true, "rack=r2": true, "rack=r1": false, "other=x": false, "node-role.kubernetes.io/infra=": true,
	} {
		var labels []string
		if text != "" {
			labels = []string{text}
		}
		if got := HasSettings(object, labels, []string{"infra:NoExecute"}); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	if HasSettings(object, nil, []string{"dedicated=gpu:NoSchedule"}) {
		t.Error("a taint with another value is the same")
	}
}

// TestControlPlaneKubeletLabels in internal/admin/controller compares these with a real API server.
func TestIsKubeletLabel(t *testing.T) {
	for key, want := range map[string]bool{
		"rack": true, "example.com/rack": true, "hypershift.openshift.io/nodePool": true, "mykubernetes.io/x": true,
		"topology.kubernetes.io/zone": true, "kubernetes.io/hostname": true, "node.kubernetes.io/instance-type": true,
		"node.kubernetes.io/anything": true, "a.kubelet.kubernetes.io/x": true, "beta.kubernetes.io/os": true,
		"node-role.kubernetes.io/infra": false, "kubernetes.io/x": false, "x.k8s.io/y": false, "k8s.io/y": false,
		"node-restriction.kubernetes.io/x": false, "a.node-restriction.kubernetes.io/x": false,
		"topology.kubernetes.io/other": false,
	} {
		if got := IsKubeletLabel(key); got != want {
			t.Errorf("%s: %t", key, got)
		}
	}
}

// A NodeEnrollment with labels or taints that the API server does not accept on a Node admits no host, which would run
// without them.
func TestInvalidSettingsOfObject(t *testing.T) {
	_, record, err := New(Options{NodeName: "worker-7", ClusterCA: certtest.NewCA(t, "root").PEM}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 64)
	for _, spec := range []v1alpha1.NodeEnrollmentSpec{
		{Labels: map[string]string{"zone": "a b"}},
		{Labels: map[string]string{"bad key!": ""}},
		{Labels: map[string]string{"": "x"}},
		{Labels: map[string]string{"a..b/c": "x"}},
		{Labels: map[string]string{"A.b/c": "x"}},
		{Labels: map[string]string{"a/b/c": "x"}},
		{Labels: map[string]string{"zone": long}},
		{Labels: map[string]string{long: ""}},
		{Labels: map[string]string{"zone": "-a"}},
		{Taints: []v1alpha1.NodeTaint{{Key: "bad key!", Effect: "NoSchedule"}}},
		{Taints: []v1alpha1.NodeTaint{{Key: "a..b/c", Effect: "NoSchedule"}}},
		{Taints: []v1alpha1.NodeTaint{{Key: "a", Value: "b c", Effect: "NoExecute"}}},
		{Taints: []v1alpha1.NodeTaint{{Key: "a", Value: "b=c", Effect: "NoExecute"}}},
		{Taints: []v1alpha1.NodeTaint{{Key: "a", Value: "b:NoSchedule", Effect: "NoExecute"}}},
		{Taints: []v1alpha1.NodeTaint{{Key: "a", Effect: "Never"}}},
	} {
		object, err := record.Object()
		if err != nil {
			t.Fatal(err)
		}
		object.Spec.Labels, object.Spec.Taints = spec.Labels, spec.Taints
		if _, err := FromObject(object); err == nil {
			t.Errorf("%v %v is accepted", spec.Labels, spec.Taints)
		}
	}
}
