// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

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
	event := <-recorder.Events
	if note := strings.TrimPrefix(event, "Warning CSRNotApproved "); len(note) > maxNoteLength ||
		!strings.HasPrefix(note, "csr: long long ") {
		t.Errorf("the Event is %q, %d bytes", event, len(note))
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
