// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// The states of one enrollment follow each other; each row is observed with the status of the row before.
func TestObserve(t *testing.T) {
	now := time.Now()
	_, record, err := enrollment.New(enrollment.Options{
		NodeName: "worker-1", ClusterCA: certtest.NewCA(t, "ca").PEM, Lifetime: time.Hour,
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	node := func(conditions ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{
			Conditions: conditions, NodeInfo: corev1.NodeSystemInfo{MachineID: strings.Repeat("0", 1000)},
		}}
	}
	ready := func(status corev1.ConditionStatus, reason, message string) *corev1.Node {
		return node(corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: reason, Message: message})
	}
	notReady := ready(corev1.ConditionFalse, "KubeletNotReady", "no network")
	isReady := ready(corev1.ConditionTrue, "KubeletReady", "")
	unknown := ready(corev1.ConditionUnknown, "NodeStatusUnknown", "no report")
	outOfService := func(node *corev1.Node) *corev1.Node {
		tainted := node.DeepCopy()
		tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
		return tainted
	}
	bind := func(e *v1alpha1.NodeEnrollment) { e.Spec.UsedBy = usedBy("SHA256:00") }
	type step struct {
		name                    string
		change                  func(*v1alpha1.NodeEnrollment)
		node                    *corev1.Node
		at                      time.Duration
		phase                   v1alpha1.Phase
		reason                  string
		enrolled, joined, ready string // status and reason of the conditions
	}
	const unused, used = "False TokenUnused", "True TokenUsed"
	const exists, deleted, none = "True NodeExists", "False NodeDeleted", "False NoNode"
	for name, steps := range map[string][]step{
		"a life": {
			{"new", nil, nil, 0, "Pending", "no host has used", unused, none, none},
			{"bound", bind, nil, 0, "Enrolled", "its Node does not exist yet", used, none, none},
			{"bound and expired", nil, nil, 2 * time.Hour, "Enrolled", "", used, none, none},
			{"registered", nil, node(), 0, "Joined", "kubelet has not reported yet", used, exists, "False NoReport"},
			{"not ready yet", nil, notReady, 0, "Joined", "no network", used, exists, "False KubeletNotReady"},
			{"ready", nil, isReady, 0, "Ready", "", used, exists, "True KubeletReady"},
			{"not ready", nil, notReady, 0, "Failed", "no network", used, exists, "False KubeletNotReady"},
			{"still not ready", nil, notReady, 0, "Failed", "no network", used, exists, "False KubeletNotReady"},
			{"silent", nil, unknown, 0, "Lost", "no report", used, exists, "Unknown NodeStatusUnknown"},
			{"not ready again", nil, notReady, 0, "Failed", "no network", used, exists, "False KubeletNotReady"},
			{"ready again", nil, isReady, 0, "Ready", "", used, exists, "True KubeletReady"},
			{"deleted", nil, nil, 0, "Lost", "the Node was deleted", used, deleted, deleted},
			{"still deleted", nil, nil, 0, "Lost", "the Node was deleted", used, deleted, deleted},
			{"registered again", nil, notReady, 0, "Joined", "no network", used, exists, "False KubeletNotReady"},
		},
		"out of service": {
			{
				"lost", bind, outOfService(unknown), 0, "Lost", "taint out-of-service: no report", used, exists,
				"Unknown NodeStatusUnknown",
			},
			{
				"ready", nil, outOfService(isReady), 0, "Ready", "taint out-of-service", used, exists, "True KubeletReady",
			},
			{
				"long reason", nil, outOfService(ready(corev1.ConditionUnknown, "R", strings.Repeat("a", 2000))), 0, "Lost",
				"taint out-of-service: a", used, exists, "Unknown R",
			},
		},
		"expiry": {
			{"a second before", nil, nil, time.Hour - 2*time.Second, "Pending", "", unused, none, none},
			{"expired", nil, nil, time.Hour, "Failed", "has expired", unused, none, none},
			{
				"approved by a person", nil, notReady, time.Hour, "Joined", "no network",
				unused, exists, "False KubeletNotReady",
			},
		},
		"invalid": {
			{
				"address", func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = []string{"x"} }, nil, 0, "Failed",
				`the enrollment is invalid: addresses: "x" is not`, unused, none, none,
			},
			{"changed", func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = nil }, nil, 0, "Pending", "", unused, none, none},
		},
		"hostile texts": {
			{
				"reason", nil, ready(corev1.ConditionFalse, "not a reason!", ""), 0, "Joined", "", unused, exists,
				"False NodeNotReady",
			},
			{
				"long reason", nil, ready(corev1.ConditionTrue, strings.Repeat("a", 2000), ""), 0, "Ready", "", unused, exists,
				"True NodeReady",
			},
			{
				"no reason", nil, ready(corev1.ConditionUnknown, "", ""), 0, "Lost", "", unused, exists,
				"Unknown NodeStatusUnknown",
			},
			{"status", nil, ready("Perhaps", "Perhaps", ""), 0, "Failed", "", unused, exists, "False Perhaps"},
			{
				"message", nil, ready(corev1.ConditionFalse, "R", strings.Repeat("é", 5000)), 0, "Failed",
				strings.Repeat("é", 500), unused, exists, "False R",
			},
		},
	} {
		current := object.DeepCopy()
		current.Generation = 3
		for _, step := range steps {
			if step.change != nil {
				step.change(current)
			}
			current.Status = observe(current, step.node, nil, &clock{now: now.Add(step.at)})
			status := current.Status
			if status.Phase != step.phase || !strings.Contains(status.Reason, step.reason) ||
				len(status.Reason) > maxMessageLength {
				t.Errorf("%s, %s: %s %q, want %s %q", name, step.name, status.Phase, status.Reason, step.phase, step.reason)
			}
			for kind, want := range map[string]string{
				v1alpha1.ConditionEnrolled: step.enrolled,
				v1alpha1.ConditionJoined:   step.joined,
				v1alpha1.ConditionReady:    step.ready,
			} {
				condition := meta.FindStatusCondition(status.Conditions, kind)
				if condition == nil || string(condition.Status)+" "+condition.Reason != want ||
					condition.ObservedGeneration != 3 || len(condition.Message) > maxMessageLength {
					t.Errorf("%s, %s: the condition %s is %+v, want %s", name, step.name, kind, condition, want)
				}
			}
			if len(status.MachineID) > maxMachineIDLength || (step.node != nil) && status.MachineID == "" {
				t.Errorf("%s, %s: machine ID %q", name, step.name, status.MachineID)
			}
		}
	}
}

func TestNodeAddressesAreIndexedInOneForm(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Address: "worker-1"}, {Address: "2001:DB8:0::7"}, {Address: "::ffff:192.0.2.7"}, {Address: "192.0.2.8"}, {},
	}}}
	if got := strings.Join(nodeAddresses(node), " "); got != "2001:db8::7 192.0.2.7 192.0.2.8" {
		t.Errorf("indexed as %q", got)
	}
}

// The decision on a CSR can depend on these changes only.
func TestDecisiveChanges(t *testing.T) {
	node := &corev1.Node{}
	ready, moved, labeled := node.DeepCopy(), node.DeepCopy(), node.DeepCopy()
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	moved.Status.Addresses = []corev1.NodeAddress{{Address: "192.0.2.7"}}
	labeled.Labels = map[string]string{"a": "b"}
	for after, want := range map[*corev1.Node]bool{ready: true, moved: true, labeled: false} {
		if got := decisiveNodeChange.Update(updateOf(node, after)); got != want {
			t.Errorf("%+v: %t", after, got)
		}
	}
}

func updateOf(before, after client.Object) event.UpdateEvent {
	return event.UpdateEvent{ObjectOld: before, ObjectNew: after}
}
