// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// statusTest runs the reconciler of the status of one enrollment with a cache that can be behind the API server.
type statusTest struct {
	*testing.T
	client   client.WithWatch         // of the API server
	cached   *v1alpha1.NodeEnrollment // that the reconciler reads, nil for the current one
	now      time.Time
	recorder *events.FakeRecorder
}

// newStatusTest returns a test with an enrollment and its Node.
func newStatusTest(t *testing.T, object *v1alpha1.NodeEnrollment, node *corev1.Node) *statusTest {
	t.Helper()
	node.Name = object.Name
	return &statusTest{
		T: t, now: time.Now(), recorder: events.NewFakeRecorder(100),
		client: fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(object).
			WithObjects(object, node).Build(),
	}
}

// reconcile reconciles once and returns the delay of the next time.
func (s *statusTest) reconcile() time.Duration {
	s.Helper()
	cache := interceptor.NewClient(s.client, interceptor.Funcs{Get: func(
		ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption,
	) error {
		if record, isRecord := into.(*v1alpha1.NodeEnrollment); isRecord && s.cached != nil {
			s.cached.DeepCopyInto(record)
			return nil
		}
		return api.Get(ctx, key, into, options...)
	}})
	r := &statusReconciler{client: cache, events: s.recorder, now: func() time.Time { return s.now }}
	result, err := r.Reconcile(s.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s.object())})
	if err != nil {
		s.Fatal(err)
	}
	return result.RequeueAfter
}

// object returns the enrollment of the API server.
func (s *statusTest) object() *v1alpha1.NodeEnrollment {
	s.Helper()
	object := &v1alpha1.NodeEnrollment{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: "worker-1"}, object); err != nil {
		s.Fatal(err)
	}
	return object
}

// check checks the phase, and the reasons of the Events since the last check.
func (s *statusTest) check(phase v1alpha1.Phase, reasons ...string) {
	s.Helper()
	if got := s.object().Status.Phase; got != phase {
		s.Errorf("the phase is %s, want %s", got, phase)
	}
	var got []string
	for len(s.recorder.Events) > 0 {
		got = append(got, strings.Fields(<-s.recorder.Events)[1])
	}
	if strings.Join(got, " ") != strings.Join(reasons, " ") {
		s.Errorf("the Events are %q, want %q", got, reasons)
	}
}

// A phase that was written is not reported again by an older copy of the cache.
func TestPhaseIsReportedOnce(t *testing.T) {
	object := joinedObject(t)
	s := newStatusTest(t, object, readyNode(corev1.ConditionFalse, time.Now()))
	s.cached = s.object()
	s.reconcile()
	s.check(v1alpha1.PhaseFailed, "NodeFailed")
	written := s.object().ResourceVersion
	if delay := s.reconcile(); delay != recheckDelay {
		t.Errorf("with an old copy, the delay is %s, want %s", delay, recheckDelay)
	}
	s.cached = nil
	s.reconcile()
	s.check(v1alpha1.PhaseFailed)
	if got := s.object().ResourceVersion; got != written {
		t.Errorf("resource version %s, want %s: it was written again", got, written)
	}
}

// The phase of a deleted Node depends on whether it existed, which an older copy of the cache does not contain.
func TestNodeDeletedBeforeTheCacheHasItsPhase(t *testing.T) {
	object := joinedObject(t)
	object.Status = v1alpha1.NodeEnrollmentStatus{}
	node := readyNode(corev1.ConditionTrue, time.Now())
	s := newStatusTest(t, object, node)
	old := s.object()
	s.reconcile()
	s.check(v1alpha1.PhaseReady, "NodeReady")
	if err := s.client.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	s.cached = old
	if delay := s.reconcile(); delay != recheckDelay {
		t.Errorf("with an old copy, the delay is %s, want %s", delay, recheckDelay)
	}
	s.check(v1alpha1.PhaseReady)
	s.cached = nil
	s.reconcile()
	s.check(v1alpha1.PhaseLost, "NodeLost")
	if joined := meta.FindStatusCondition(s.object().Status.Conditions, v1alpha1.ConditionJoined); joined == nil ||
		joined.Reason != reasonNodeDeleted {
		t.Errorf("the condition Joined is %+v", joined)
	}
}

// Nothing of a Node whose host is off changes. Its phase and conditions still change when their time has come.
func TestStatusOfHostThatIsOff(t *testing.T) {
	begin := time.Now().Truncate(time.Second)
	node := readyNode(corev1.ConditionUnknown, begin)
	node.Annotations = map[string]string{
		v1alpha1.AnnotationState:              string(v1alpha1.AgentUpgrading),
		v1alpha1.AnnotationCertificateExpires: report.Timestamp(begin.Add(100 * time.Hour)),
	}
	s := newStatusTest(t, joinedObject(t), node)
	s.now = begin
	for _, want := range []struct {
		at       time.Duration
		phase    v1alpha1.Phase
		expiring string
		event    []string
	}{
		{0, v1alpha1.PhaseUpgrading, "False Valid", []string{"NodeUpgrading"}},
		{maxUpgradeOutage, v1alpha1.PhaseLost, "False Valid", []string{"NodeLost"}},
		{100*time.Hour - certificateWarning, v1alpha1.PhaseLost, "True ExpiresSoon", nil},
		{100 * time.Hour, v1alpha1.PhaseLost, "True Expired", nil},
	} {
		if got := s.now.Sub(begin); got != want.at {
			t.Fatalf("observed again after %s, want %s", got, want.at)
		}
		delay := s.reconcile()
		s.check(want.phase, want.event...)
		condition := meta.FindStatusCondition(s.object().Status.Conditions, v1alpha1.ConditionCertificateExpiring)
		if got := string(condition.Status) + " " + condition.Reason; got != want.expiring {
			t.Errorf("after %s, the certificate is %s, want %s", want.at, got, want.expiring)
		}
		if isLast := want.expiring == "True Expired"; (delay == 0) != isLast {
			t.Errorf("after %s, the delay is %s", want.at, delay)
		}
		s.now = s.now.Add(delay)
	}
}
