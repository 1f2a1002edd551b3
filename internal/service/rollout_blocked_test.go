// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Pods that would be lost are no failure of the upgrade. It is attempted again when they are gone, with another slot.
func TestUpgradeThatWouldLosePods(t *testing.T) {
	m, c := newRollout(t, "7", "22")
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "debug"}}
	c.pods.Items = []corev1.Pod{pod}
	runs := 0
	m.rollout.upgrade = func(ctx context.Context, _ []byte, _ upgrade.Options) error {
		runs++
		return report.AddRemedy(m.node.CheckDrain(ctx), "# or another way")
	}
	check := func(slot, lost string, wantRuns int) {
		t.Helper()
		c.node.Annotations[v1alpha1.AnnotationSlot] = slot
		for range 2 {
			found, err := m.checkRollout(t.Context())
			flowtest.NoError(t, err)
			m.rollout.wait()
			annotations := annotationsOf(reportedFacts{state: m.state, attempt: lastAttempt(t, m)})
			blocked := annotations[v1alpha1.AnnotationBlocked]
			if annotations[v1alpha1.AnnotationFailedSlot] != "" || (blocked == "") != (lost == "") ||
				!strings.HasSuffix(blocked, lost) {
				t.Errorf("slot %q: reported is %+v", slot, annotations)
			}
			if len(found) > 0 && (found[0].Reason != report.UpgradeBlocked || found[0].Message != blocked) {
				t.Errorf("slot %q: found %+v, reported %q", slot, found, blocked)
			}
		}
		found, err := m.checkRollout(t.Context())
		flowtest.NoError(t, err)
		if runs != wantRuns || (len(found) > 0) != (lost != "") {
			t.Errorf("slot %q: %d runs, found %+v", slot, runs, found)
		}
	}
	check("7", "another node: team/debug", 1)
	c.pods.Items[0].Namespace = "other" // another one
	check("", "another node: other/debug", 1)
	c.pods.Items[0].OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: ptr.To(true)}}
	delete(c.node.Annotations, v1alpha1.AnnotationNextConfig) // no preparation
	check("", "", 1)
	c.pods.Items[0] = pod
	c.node.Annotations[v1alpha1.AnnotationNextConfig] = "22"
	check("8", "another node: team/debug", 2)
	c.node.Annotations[v1alpha1.AnnotationNextConfig] = "11" // the NodePool returns to it
	check("", "", 2)
}
