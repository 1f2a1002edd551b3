// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// A node that changes all the time, with many CSRs of its join token, causes a limited number of decisions. A change of
// its enrollment concerns all of them.
func TestDecisionsAfterChangeOfNode(t *testing.T) {
	const flood = 600
	record := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	record.Spec.TokenID = "0123456789abcdef"
	waiting, objects := newWaitingCSRs(), []client.Object{record}
	for i := range flood {
		csr := &kube.CSR{}
		csr.Name = fmt.Sprintf("csr-%03d", i)
		csr.Annotations = map[string]string{enrollment.AnnotationID: record.Spec.TokenID}
		objects = append(objects, csr)
		waiting.add(csr.Name, "refused", sets.New("worker-1"))
	}
	r := &csrReconciler{waiting: waiting, client: fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithIndex(&kube.CSR{}, csrTokenIndex, csrToken).Build()}
	queue := &recordedQueue{}
	node, changes := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}, r.afterNodeChange()
	changes.Create(t.Context(), event.CreateEvent{Object: node}, queue)
	changes.Update(t.Context(), event.UpdateEvent{ObjectOld: node, ObjectNew: node}, queue)
	changes.Delete(t.Context(), event.DeleteEvent{Object: node}, queue)
	immediate := slices.ContainsFunc(queue.added, func(one string) bool { return !strings.HasSuffix(one, " after 1s") })
	if len(queue.added) != 3*maxWaitingCSRsPerNode || immediate {
		t.Errorf("three changes request %d decisions, at once: %t", len(queue.added), immediate)
	}
	if got := sets.New(r.csrsOf(t.Context(), record)...); len(got) != flood {
		t.Errorf("a change of the enrollment requests %d of %d CSRs", len(got), flood)
	}
}

// A reason is reported once at the enrollment, in a length that the API server accepts.
func TestReport(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	r := &csrReconciler{events: recorder, waiting: newWaitingCSRs()}
	csr := &kube.CSR{}
	csr.Name = "csr"
	found := gathered{objects: map[string]*v1alpha1.NodeEnrollment{"worker-1": {}}}
	decision := approver.Decision{Outcome: approver.Refused, Node: "worker-1", Reason: strings.Repeat("long ", 1000)}
	if !r.report(t.Context(), csr, decision, found) || r.report(t.Context(), csr, decision, found) {
		t.Error("not reported once")
	}
	recorded := <-recorder.Events
	if note := strings.TrimPrefix(recorded, "Warning CSRNotApproved "); len(note) > maxNoteLength ||
		!strings.HasPrefix(note, "csr: long long ") {
		t.Errorf("the Event is %q, %d bytes", recorded, len(note))
	}
	decision.Reason = "another"
	if !r.report(t.Context(), csr, decision, found) || len(recorder.Events) != 1 {
		t.Error("another reason is not reported")
	}
	decision.Node = "unknown"
	if !r.report(t.Context(), &kube.CSR{}, decision, gathered{}) || len(recorder.Events) != 1 {
		t.Error("without an enrollment, the reason is not logged, or there is an Event")
	}
}
