// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A limit that the API server cannot check stops the rollout.
func TestPoolOfUnusableRollout(t *testing.T) {
	secret := &metav1.PartialObjectMetadata{}
	now := time.Now()
	secret.Annotations = map[string]string{v1alpha1.AnnotationPoolConfig: "new"}
	for want, spec := range map[string]v1alpha1.NodeRolloutSpec{
		"schedule of the window": {Window: &v1alpha1.MaintenanceWindow{
			Schedule: "never", Duration: metav1.Duration{Duration: time.Hour},
		}},
		"canary: ": {Canary: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}},
	} {
		pool := poolOf(&v1alpha1.NodeRollout{Spec: spec}, secret, &clock{now: now})
		if !strings.HasPrefix(pool.Blocked, want) {
			t.Errorf("blocked by %q, want %q", pool.Blocked, want)
		}
	}
	secret.Annotations[v1alpha1.AnnotationPoolPaused] = "until 2027"
	pool := poolOf(&v1alpha1.NodeRollout{}, secret, &clock{now: now})
	if pool.Blocked != "the NodePool is paused: until 2027" {
		t.Errorf("blocked by %q", pool.Blocked)
	}
	delete(secret.Annotations, v1alpha1.AnnotationPoolPaused)
	expires := now.Add(time.Hour).Truncate(time.Second)
	secret.Annotations[v1alpha1.AnnotationPoolExpires] = report.Timestamp(expires)
	before := &clock{now: now}
	if pool := poolOf(&v1alpha1.NodeRollout{}, secret, before); pool.Blocked != "" || !before.next.Equal(expires) {
		t.Errorf("before the expiry: blocked by %q, observed again at %s, want %s", pool.Blocked, before.next, expires)
	}
	pool = poolOf(&v1alpha1.NodeRollout{}, secret, &clock{now: expires})
	if !strings.HasPrefix(pool.Blocked, "the published user data has expired") {
		t.Errorf("blocked by %q", pool.Blocked)
	}
}

// A problem of the NodePool is shown also when no node waits.
func TestAddProblem(t *testing.T) {
	secret := &metav1.PartialObjectMetadata{}
	for _, test := range []struct{ waiting, problem, want string }{
		{"", "", ""},
		{"the NodeRollout is paused", "", "the NodeRollout is paused"},
		{"", "the payload is not generated", "newer user data is not published: the payload is not generated"},
		{"it is paused", "no payload", "it is paused; newer user data is not published: no payload"},
		{"the published user data has expired: no payload", "no payload", "the published user data has expired: no payload"},
	} {
		secret.Annotations = map[string]string{v1alpha1.AnnotationPoolProblem: test.problem}
		if got := addProblem(test.waiting, secret); got != test.want {
			t.Errorf("%q with problem %q becomes %q", test.waiting, test.problem, got)
		}
	}
	if got := addProblem("not published", nil); got != "not published" {
		t.Errorf("without a Secret: %q", got)
	}
}

// A decision reads all nodes of the NodePool, so the regular reports cause none.
func TestProgressChange(t *testing.T) {
	annotate := func(key string) func(*corev1.Node) {
		return func(node *corev1.Node) { node.Annotations[key] = "changed" }
	}
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"nothing":            {func(*corev1.Node) {}, false},
		"time of the report": {annotate(v1alpha1.AnnotationReported), false},
		"reason":             {annotate(v1alpha1.AnnotationReason), false},
		"heartbeat of kubelet": {
			func(node *corev1.Node) { node.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }, false,
		},
		"state":                {annotate(v1alpha1.AnnotationState), true},
		"configuration":        {annotate(v1alpha1.AnnotationCurrentConfig), true},
		"failure":              {annotate(v1alpha1.AnnotationFailedSlot), true},
		"cause of the failure": {annotate(v1alpha1.AnnotationFailure), true},
		"blocked":              {annotate(v1alpha1.AnnotationBlocked), true},
		"permission":           {annotate(v1alpha1.AnnotationSlot), true},
		"removed user data":    {func(node *corev1.Node) { delete(node.Annotations, v1alpha1.AnnotationUserData) }, true},
		"label":                {func(node *corev1.Node) { node.Labels = map[string]string{"canary": "true"} }, false},
		"cordon":               {func(node *corev1.Node) { node.Spec.Unschedulable = true }, true},
		"not Ready": {
			func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown }, true,
		},
	} {
		before := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationUserData: "user-data-workers"}},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		}
		after := before.DeepCopy()
		test.change(after)
		if got := progressChange.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
			t.Errorf("%s: selected %t, want %t", name, got, test.want)
		}
	}
}
