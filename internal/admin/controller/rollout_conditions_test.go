// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

func TestRolloutConditions(t *testing.T) {
	slot := []v1alpha1.UpgradeSlot{{Node: "worker-1"}}
	failure := []v1alpha1.UpgradeFailure{{Node: "worker-2", Reason: "no space"}}
	for name, test := range map[string]struct {
		status                                   v1alpha1.NodeRolloutStatus
		pool                                     rollout.Pool
		completed, progressing, paused, degraded bool
		message                                  string // part of one of the messages
	}{
		"no nodes": {pool: rollout.Pool{Config: "new"}, completed: true, message: "all 0 nodes have configuration new"},
		"all updated": {
			v1alpha1.NodeRolloutStatus{Nodes: 2, Updated: 2},
			rollout.Pool{Config: "new"},
			true, false, false, false,
			"all 2 nodes",
		},
		"the last slot has not ended": {
			v1alpha1.NodeRolloutStatus{Nodes: 2, Updated: 2, Slots: slot},
			rollout.Pool{Config: "new"},
			false, true, false, false,
			"nodes with a slot: worker-1",
		},
		"outdated": {
			v1alpha1.NodeRolloutStatus{Nodes: 2, Updated: 1, Waiting: "the maintenance window opens"},
			rollout.Pool{Config: "new"},
			false, false, false, false, "1 of 2 nodes have configuration new",
		},
		"paused in an upgrade": {
			v1alpha1.NodeRolloutStatus{Nodes: 2, Slots: slot},
			rollout.Pool{Config: "new", Blocked: "the NodeRollout is paused", IsPaused: true},
			false, true, true, false,
			"the NodeRollout is paused",
		},
		"failed": {
			v1alpha1.NodeRolloutStatus{Nodes: 2, Failures: failure},
			rollout.Pool{Config: "new"},
			false, false, false, true,
			"failed upgrades: 1, first that of worker-2: no space",
		},
		"an earlier configuration failed": {
			v1alpha1.NodeRolloutStatus{Config: "new", Nodes: 2, Failures: failure, Waiting: "2 of the nodes are unavailable"},
			rollout.Pool{Config: "new"},
			false, false, false, false,
			"2 of the nodes are unavailable",
		},
		"not published": {
			v1alpha1.NodeRolloutStatus{Nodes: 2},
			rollout.Pool{Blocked: "not published"},
			false, false, false, true,
			"not published",
		},
	} {
		object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Status: test.status}
		setRolloutConditions(object, test.pool)
		want := map[string]bool{
			v1alpha1.ConditionCompleted: test.completed, v1alpha1.ConditionProgressing: test.progressing,
			v1alpha1.ConditionPaused: test.paused, v1alpha1.ConditionDegraded: test.degraded,
		}
		messages := ""
		for _, one := range object.Status.Conditions {
			messages += one.Message + "\n"
			if isTrue := one.Status == metav1.ConditionTrue; isTrue != want[one.Type] || one.ObservedGeneration != 7 {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if len(object.Status.Conditions) != len(want) || !strings.Contains(messages, test.message) {
			t.Errorf("%s: the messages are\n%s", name, messages)
		}
	}
}
