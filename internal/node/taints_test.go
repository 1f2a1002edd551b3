// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnschedulableFindings(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	taint := func(key string, effect corev1.TaintEffect) corev1.NodeSpec {
		return corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Effect: effect}}}
	}
	tests := map[string]struct {
		spec corev1.NodeSpec
		want []string // part of text and remedy, one per finding
	}{
		"nothing":           {corev1.NodeSpec{}, nil},
		"only a preference": {taint("UpdateInProgress", "PreferNoSchedule"), nil},
		"cordoned, reported once": {corev1.NodeSpec{
			Unschedulable: true,
			Taints: []corev1.Taint{{
				Key:    "node.kubernetes.io/unschedulable",
				Effect: "NoSchedule",
			}},
		}, []string{"oc adm uncordon worker-1"}},
		"cloud provider": {
			corev1.NodeSpec{
				Taints: []corev1.Taint{
					{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"},
				},
			},
			[]string{"oc adm taint node worker-1 node.cloudprovider.kubernetes.io/uninitialized-"},
		},
		"unknown, with time": {corev1.NodeSpec{Taints: []corev1.Taint{{
			Key:       "team",
			Value:     "blue",
			Effect:    "NoExecute",
			TimeAdded: &since,
		}}}, []string{"taint team=blue:NoExecute since 2026-01-02T03:04:05Z: not a taint that"}},
		"what stays is first": {
			corev1.NodeSpec{Taints: []corev1.Taint{{
				Key:    "node.kubernetes.io/not-ready",
				Effect: "NoSchedule",
			}, {Key: "a", Effect: "NoSchedule"}}},
			[]string{"oc adm taint node worker-1 a-", "within seconds of Ready"},
		},
		"update does keep off": {taint("UpdateInProgress", "NoSchedule"), []string{"machine-config daemon"}},
		"a CSI driver": {
			taint("efs.csi.aws.com/agent-not-ready", "NoExecute"),
			[]string{"CSI driver's pod on this node removes it"},
		},
		"another agent": {
			taint("node.cilium.io/agent-not-ready", "NoExecute"),
			[]string{"the agent that node.cilium.io/agent-not-ready names"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := unschedulableFindings(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}, Spec: test.spec}, nil)
			if len(got) != len(test.want) {
				t.Fatalf("unschedulableFindings() = %v, want %d findings", got, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(got[i].Message+string(got[i].Remedy), want) {
					t.Errorf("finding %+v lacks %q", got[i], want)
				}
			}
		})
	}
}

func TestRequestedTaintsAreNoProblem(t *testing.T) {
	requested := []string{
		"node-role.kubernetes.io/infra:NoSchedule",
		"team=blue:NoExecute",
		"node.cilium.io/agent-not-ready:NoExecute",
	}
	for name, test := range map[string]struct {
		taint corev1.Taint
		want  int
	}{
		"known":                   {corev1.Taint{Key: "node-role.kubernetes.io/infra", Effect: "NoSchedule"}, 0},
		"own":                     {corev1.Taint{Key: "team", Value: "blue", Effect: "NoExecute"}, 0},
		"with another effect":     {corev1.Taint{Key: "team", Value: "blue", Effect: "NoSchedule"}, 1},
		"of another key":          {corev1.Taint{Key: "site", Effect: "NoExecute"}, 1},
		"removed by a component":  {corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: "NoExecute"}, 1},
		"temporary by Kubernetes": {corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}, 1},
	} {
		node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{test.taint}}}
		if got := unschedulableFindings(node, requested); len(got) != test.want {
			t.Errorf("taint %s: %d findings, want %d: %v", name, len(got), test.want, got)
		}
	}
}

// Every explanation states who sets a taint, who removes it, and what to do
// unless a running controller removes it.
func TestKnownTaintsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, taint := range knownTaints() {
		if taint.key == "" || taint.explanation == "" || taint.remedy == "" || seen[taint.key] {
			t.Errorf("taint %q lacks an explanation or a remedy, or is listed twice", taint.key)
		}
		seen[taint.key] = true
		removes := false
		for _, word := range []string{"remove", "uncordon", "while"} {
			removes = removes || strings.Contains(taint.explanation, word)
		}
		if !removes {
			t.Errorf("taint %q: the explanation does not name what removes it: %s", taint.key, taint.explanation)
		}
	}
	for _, key := range []string{
		"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/network-unavailable",
		"node.kubernetes.io/memory-pressure",
		"node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable",
		"node.kubernetes.io/out-of-service",
		"node.cloudprovider.kubernetes.io/uninitialized", "UpdateInProgress", "ToBeDeletedByClusterAutoscaler",
		"DeletionCandidateOfClusterAutoscaler",
	} {
		if !seen[key] {
			t.Errorf("taint %q is not listed", key)
		}
	}
}

func TestDocumentationListsEveryTaint(t *testing.T) {
	document, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, taint := range knownTaints() {
		if !strings.Contains(string(document), "`"+taint.key+"`") {
			t.Errorf("docs/troubleshooting.md does not list taint %s", taint.key)
		}
	}
}

func TestMachineConfigStateInDetails(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w", Annotations: map[string]string{
		"machineconfiguration.openshift.io/state":  "Degraded",
		"machineconfiguration.openshift.io/reason": "unexpected on-disk state",
	}}}
	f := explainTaint(node, corev1.Taint{Key: "UpdateInProgress", Effect: "NoSchedule"})
	if got := strings.Join(f.Details, "; "); got != "state: Degraded; reason: unexpected on-disk state" {
		t.Errorf("details = %q", got)
	}
}
