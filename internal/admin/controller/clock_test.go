// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Until the time that an observation returns, the status of unchanged objects remains; without such a time, forever.
func TestStatusChangesOnlyAtTheReturnedTime(t *testing.T) {
	begin := time.Now().Truncate(time.Second)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same combinations in each run
	objects := enrollmentsAt(t, begin)
	changes := 0
	for range 500 {
		object, node := objects[random.IntN(len(objects))].DeepCopy(), randomNode(random, begin)
		observed := &clock{now: begin}
		object.Status = observe(object, node, nil, observed)
		for range 10 {
			for _, at := range timesBefore(observed) {
				if got := observe(object, node, nil, &clock{now: at}); !isSameStatus(got, object.Status) {
					t.Fatalf("%s, %s: observed at %s, and again at %s: at %s, it is\n%+v\nnot\n%+v", object.Name,
						textOf(node), observed.now, observed.next, at, got, object.Status)
				}
			}
			if observed.next.IsZero() {
				break
			}
			observed = &clock{now: observed.next}
			before := object.Status
			object.Status = observe(object, node, nil, observed)
			if !isSameStatus(before, object.Status) {
				changes++
			}
		}
		if !observed.next.IsZero() {
			t.Errorf("%s, %s: observed again and again, next at %s", object.Name, textOf(node), observed.next)
		}
	}
	if changes < 500 {
		t.Errorf("only %d changes without a change of an object", changes)
	}
}

// isSameStatus compares all but the time of a report from the future, which is that of the observation.
func isSameStatus(a, b v1alpha1.NodeEnrollmentStatus) bool {
	a.LastReport, b.LastReport = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

// timesBefore returns times between an observation and the next one.
func timesBefore(observed *clock) []time.Time {
	var times []time.Time
	for _, after := range []time.Duration{
		time.Nanosecond, time.Second, time.Minute, 10 * time.Minute, 29 * time.Minute, 31 * time.Minute, time.Hour,
		3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 71 * time.Hour, 73 * time.Hour, 10 * 24 * time.Hour,
		30 * 24 * time.Hour, 100 * 24 * time.Hour, 200 * 365 * 24 * time.Hour,
	} {
		if at := observed.now.Add(after); observed.next.IsZero() || at.Before(observed.next) {
			times = append(times, at)
		}
	}
	if !observed.next.IsZero() {
		times = append(times, observed.next.Add(-time.Nanosecond))
	}
	return times
}

// enrollmentsAt returns enrollments with all kinds of tokens and earlier states.
func enrollmentsAt(t *testing.T, begin time.Time) []*v1alpha1.NodeEnrollment {
	t.Helper()
	joined := joinedObject(t)
	fresh := joined.DeepCopy()
	fresh.Status = v1alpha1.NodeEnrollmentStatus{}
	var all []*v1alpha1.NodeEnrollment
	add := func(from *v1alpha1.NodeEnrollment, name string, change func(*v1alpha1.NodeEnrollment)) {
		object := from.DeepCopy()
		object.Name = name
		change(object)
		all = append(all, object)
	}
	for _, lifetime := range []time.Duration{-time.Hour, time.Hour, 90 * 24 * time.Hour} {
		name := fmt.Sprintf("token-of-%.0f-hours", lifetime.Abs().Hours())
		add(fresh, name, func(e *v1alpha1.NodeEnrollment) { e.Spec.Expires = metav1.NewTime(begin.Add(lifetime)) })
	}
	add(fresh, "invalid", func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = []string{"x"} })
	add(fresh, "bound", func(e *v1alpha1.NodeEnrollment) { e.Spec.UsedBy = usedBy("SHA256:00") })
	add(joined, "was-ready", func(*v1alpha1.NodeEnrollment) {})
	for _, phase := range v1alpha1.Phases() {
		add(joined, "was-"+strings.ToLower(string(phase)), func(e *v1alpha1.NodeEnrollment) {
			e.Status = observe(e, readyNode(corev1.ConditionFalse, begin), nil, &clock{now: begin})
			e.Status.Phase = phase
		})
	}
	return all
}

func readyNode(status corev1.ConditionStatus, since time.Time) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, Reason: "Reason", LastTransitionTime: metav1.NewTime(since),
	}}}}
}

// randomNode returns a Node with a state and a report, or nil.
func randomNode(random *rand.Rand, begin time.Time) *corev1.Node {
	if random.IntN(10) == 0 {
		return nil
	}
	when := func(offsets ...time.Duration) string {
		switch at := random.IntN(len(offsets) + 2); at {
		case len(offsets):
			return ""
		case len(offsets) + 1:
			return "9999-12-31T23:59:59Z"
		default:
			return report.Timestamp(begin.Add(offsets[at]))
		}
	}
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	since := []time.Duration{-40 * time.Minute, -time.Minute, time.Minute}[random.IntN(3)]
	node := readyNode(corev1.ConditionStatus(pick("True", "False", "Unknown")), begin.Add(since))
	node.Annotations = map[string]string{
		v1alpha1.AnnotationState:              pick("", "Healthy", "Upgrading", "Drifted"),
		v1alpha1.AnnotationReported:           when(-40*time.Minute, -time.Minute, time.Hour),
		v1alpha1.AnnotationCertificateExpires: when(-time.Hour, time.Hour, 80*time.Hour, 90*24*time.Hour),
		v1alpha1.AnnotationFailedSlot:         pick("", "", "1"),
	}
	return node
}

func textOf(node *corev1.Node) string {
	if node == nil {
		return "no Node"
	}
	return fmt.Sprintf("Node %v with %+v", node.Annotations, node.Status.Conditions)
}
