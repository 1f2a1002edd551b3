// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestForeignNodeError(t *testing.T) {
	heartbeat := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1"},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{MachineID: "aaaa"},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				LastHeartbeatTime: metav1.NewTime(heartbeat),
			}},
		},
	}
	const intro = "another machine already uses this Node name: the machine-id of Node worker-1 is aaaa, this machine's " +
		"is bbbb; "
	for want, lease := range map[string]time.Time{
		"it last reported to the cluster at 2026-11-20T08:00:00Z, Ready": {},
		"it last reported to the cluster at 2026-11-20T08:04:50Z, Ready": heartbeat.Add(290 * time.Second),
	} {
		err := foreignNodeError(node, "bbbb", lastHeartbeat(node, lease))
		if err.Error() != intro+want || report.CodeOf(err) != report.Refused || !errors.Is(err, errForeignNode) ||
			!strings.Contains(string(report.RemedyOf(err)), "oc delete node worker-1") {
			t.Errorf("foreignNodeError() = %v (code %d, %s)\nwant %s", err, report.CodeOf(err), report.RemedyOf(err),
				intro+want)
		}
	}
	node.Status.Conditions = nil
	if err := foreignNodeError(node, "bbbb", lastHeartbeat(node, time.Time{})); !strings.HasSuffix(err.Error(),
		"it has never reported to the cluster, not Ready") {
		t.Errorf("foreignNodeError() = %v", err)
	}
}

func TestDeletedText(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	since := now.Add(-50 * time.Hour)
	const again = "; submitting it again with the same key, waiting since 2026-11-19T10:00:00Z"
	tests := []struct {
		before    phase
		submitted time.Time
		want      string
	}{
		{
			before:    phasePending,
			submitted: now.Add(-25 * time.Hour),
			want: "client CSR node-csr-x of 2026-11-20T11:00:00Z was not approved for a day, and the cluster deleted it, " +
				"as it does with all unapproved CSRs" + again,
		},
		{
			before: phasePending, submitted: now.Add(-23 * time.Hour),
			want: "client CSR node-csr-x was deleted before it was approved" + again,
		},
		{before: phaseAbsent, want: "client CSR node-csr-x was deleted before it was approved" + again},
		{
			before:    phaseApproved,
			submitted: now.Add(-25 * time.Hour),
			want:      "client CSR node-csr-x was deleted after it was approved and before a certificate was issued" + again,
		},
	}
	for _, test := range tests {
		if got := deletedText("node-csr-x", test.before, test.submitted, since, now); got != test.want {
			t.Errorf("goneText(%s) = %q\nwant %q", test.before, got, test.want)
		}
	}
	if got := waitingSinceText(now, now.Add(-30*time.Second)); got != "" {
		t.Errorf("waitingSinceText() of the first CSR = %q", got)
	}
	if got := waitingSinceText(now, since); got != ", waiting since 2026-11-19T10:00:00Z" {
		t.Errorf("waitingSinceText() = %q", got)
	}
}
