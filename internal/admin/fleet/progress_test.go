// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

// noon is the time to which the state of an upgrade is relative. It is a Saturday.
var noon = time.Date(2026, 12, 5, 12, 0, 0, 0, time.UTC)

func microTime(minutes int) metav1.MicroTime {
	return metav1.NewMicroTime(noon.Add(time.Duration(minutes) * time.Minute))
}

// startUpgrade starts a cluster with the upgrade of NodePool workers.
func startUpgrade(t *testing.T, change func(*v1alpha1.NodeRollout)) (*hostedCluster, *v1alpha1.NodeRollout) {
	t.Helper()
	h := startHostedCluster(t, apitest.Enrollments)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "user-data-workers"}}
	v1alpha1.PublishedState{Config: "new", Release: "4.21.3", MaxUnavailable: "10%"}.WriteTo(secret)
	object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	object.Status = v1alpha1.NodeRolloutStatus{
		Config: "new", Release: "4.21.3", Nodes: 12, Updated: 4, Unavailable: 2, Failed: 1, Waiting: "at most 2 may be",
		Slots: []v1alpha1.UpgradeSlot{
			{Node: "w-1", Config: "new", Given: microTime(-10)}, {Node: "w-2", Config: "new", Given: microTime(-5)},
		},
		Failures: []v1alpha1.UpgradeFailure{{Node: "w-3", Config: "new", Reason: "no space \x1b[2J", At: microTime(-60)}},
	}
	if change != nil {
		change(object)
	}
	for n := range 12 {
		one := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w-%d", n)}}
		one.Spec.NodePool, one.Status.Release, one.Status.ConfigHash = "workers", "4.21.2", "old"
		if n > 7 {
			one.Status.Release, one.Status.ConfigHash = "4.21.3", "new"
		}
		one.Spec.Labels = map[string]string{"canary": fmt.Sprint(n > 6)}
		h.Set(t, one)
	}
	h.Set(t, secret, object, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w-1", Annotations: map[string]string{
		v1alpha1.AnnotationState: string(v1alpha1.AgentUpgrading), v1alpha1.AnnotationReason: "step kubelet",
	}}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w-2", Annotations: map[string]string{
		v1alpha1.AnnotationBlocked: "the node cannot be drained",
	}}})
	for n, minutes := range []int{-120, -90, -60, -30} {
		for _, one := range []struct {
			reason, message, pool string
			minutes               int
		}{
			{"UpgradePermitted", "may be upgraded to configuration new", "workers", minutes - 30},
			{"UpgradeCompleted", "upgraded to configuration new", "workers", minutes},
			{"UpgradeCompleted", "upgraded to configuration older", "workers", minutes},
			{"UpgradeCompleted", "upgraded to configuration new", "others", minutes},
		} {
			event := newEvent("NodeEnrollment", one.reason, one.message, 0)
			event.Name = fmt.Sprintf("%s-%d-%s", strings.ToLower(one.reason), n, strings.Fields(one.message)[3]+one.pool)
			event.LastTimestamp = metav1.NewTime(noon.Add(time.Duration(one.minutes) * time.Minute))
			event.ReportingController = v1alpha1.EventSource
			event.Related = &corev1.ObjectReference{Kind: "NodeRollout", Name: one.pool}
			h.Set(t, event)
		}
	}
	return h, object
}

func (h *hostedCluster) printProgress(t *testing.T, object *v1alpha1.NodeRollout, change func(*Progress)) string {
	t.Helper()
	p, err := h.client.Progress(t.Context(), "workers", object)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	var out bytes.Buffer
	p.Print(&report.Page{Writer: &out}, noon)
	return out.String()
}

func TestProgress(t *testing.T) {
	h, object := startUpgrade(t, nil)
	const want = `NodePool workers: release 4.21.3, configuration new
nodes:   12: 4 updated, 2 in progress, 5 waiting, 1 failed; 2 unavailable
now:     8 with release 4.21.2, configuration old; 4 with release 4.21.3, configuration new
pace:    2.0 nodes per hour in the last 4 upgrades; expected end 2026-12-05T15:30:00Z (in 3h30m)
limits:  max-unavailable 10%, max-failures 0
waiting: at most 2 may be
w-1 in progress since 2026-12-05T11:50:00Z (10m): step kubelet
w-2 in progress since 2026-12-05T11:55:00Z (5m): the node cannot be drained
w-3 failed: no space \x1b[2J
`
	if diff := cmp.Diff(want, h.printProgress(t, object, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const none = `NodePool workers has no NodeRollout: its nodes are upgraded by hand
wanted:  release 4.21.3, configuration new
now:     8 with release 4.21.2, configuration old; 4 with release 4.21.3, configuration new
`
	if diff := cmp.Diff(none, h.printProgress(t, nil, nil)); diff != "" {
		t.Errorf("without a NodeRollout (-want +got):\n%s", diff)
	}
	// Only the NodeRollout can be read.
	h.Before = apitest.Reject(http.MethodGet, "", apitest.Forbidden())
	got := h.printProgress(t, object, nil)
	if !strings.Contains(got, "\nw-1 in progress since 2026-12-05T11:50:00Z (10m)\n") ||
		strings.Contains(got, "pace:") || strings.Contains(got, "now:") {
		t.Errorf("without permissions:\n%s", got)
	}
}

func TestProgressOfSettings(t *testing.T) {
	window := func(schedule string) *v1alpha1.MaintenanceWindow {
		return &v1alpha1.MaintenanceWindow{
			Schedule: schedule, Duration: metav1.Duration{Duration: 4 * time.Hour}, TimeZone: "Europe/Prague",
		}
	}
	paused := metav1.NewTime(noon)
	for name, test := range map[string]struct {
		change   func(*v1alpha1.NodeRollout)
		progress func(*Progress)
		want     string
		hasEnd   bool
	}{
		"paused by this run": {
			func(o *v1alpha1.NodeRollout) { o.Spec.Paused = true }, func(p *Progress) { p.ByYou = true },
			"paused by you: no upgrade begins before --resume; 2 upgrades in progress are completed\nNodePool ", false,
		},
		"paused by another program": {
			func(o *v1alpha1.NodeRollout) {
				o.Spec.Paused, o.Status.Slots = true, nil
				o.ManagedFields = []metav1.ManagedFieldsEntry{{
					Manager: "kubectl-edit", Time: &paused, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:paused":{}}}`)},
				}}
			}, nil, "paused with kubectl-edit at 2026-12-05T12:00:00Z: no upgrade begins before --resume\nNodePool ", false,
		},
		"paused by the NodePool": {
			nil, func(p *Progress) { p.Published.Paused = "until 2027" },
			"paused by the NodePool: until 2027; 2 upgrades in progress are completed\nNodePool ", false,
		},
		"closed window": {
			func(o *v1alpha1.NodeRollout) { o.Spec.Window = window("0 1 * * SAT") }, nil,
			"\nwindow:  closed, opens 2026-12-12T01:00:00+01:00 (0 1 * * SAT, Europe/Prague, for 4h)\n", false,
		},
		"open window that closes before the end": {
			func(o *v1alpha1.NodeRollout) { o.Spec.Window = window("0 12 * * SAT") }, nil,
			"\nwindow:  open until 2026-12-05T16:00:00+01:00 (0 12 * * SAT, Europe/Prague, for 4h)\n", false,
		},
		"open window that closes after the end": {
			func(o *v1alpha1.NodeRollout) { o.Spec.Window = window("0 13 * * SAT") }, nil, "\nwindow:  open until ", true,
		},
		"invalid window": {
			func(o *v1alpha1.NodeRollout) { o.Spec.Window = window("0 1 31 2 *") }, nil, "no such day exists", false,
		},
		"canary": {
			func(o *v1alpha1.NodeRollout) {
				o.Spec.Canary = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "true"}}
			}, nil, "\ncanary:  canary=true first; 4 of 5 updated\n", true,
		},
		"limits": {
			func(o *v1alpha1.NodeRollout) {
				o.Spec.MaxUnavailable, o.Spec.MaxFailures = ptr.To(intstr.FromInt32(3)), 2
				o.Spec.SlotTimeout = &metav1.Duration{Duration: 90 * time.Minute}
			}, nil, "\nlimits:  max-unavailable 3, max-failures 2, slot-timeout 1h30m\n", true,
		},
		"too little is recorded": {
			func(o *v1alpha1.NodeRollout) { o.Status.Config = "older" },
			func(p *Progress) { p.Events = p.Events[:5] }, "configuration older\n", false,
		},
		"an earlier configuration failed": {
			func(o *v1alpha1.NodeRollout) {
				o.Status.Failures[0].Config = "old"
				o.Status.Failures = append(o.Status.Failures, v1alpha1.UpgradeFailure{Node: "w-4", Config: "new", Reason: "r"})
			}, nil, ": the node cannot be drained\nw-4 failed: r\n", true,
		},
		"many failures": {
			func(o *v1alpha1.NodeRollout) {
				for n := range 7 {
					o.Status.Failures = append(o.Status.Failures, v1alpha1.UpgradeFailure{
						Node: fmt.Sprint("n-", n), Config: "new", Reason: "r",
					})
				}
			}, nil, "\nn-3 failed: r\nand 3 more\n", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, object := startUpgrade(t, test.change)
			got := h.printProgress(t, object, test.progress)
			if !strings.Contains(got, test.want) || strings.Contains(got, "expected end") != test.hasEnd {
				t.Errorf("%q is not printed, or the end is wrong:\n%s", test.want, got)
			}
		})
	}
}
