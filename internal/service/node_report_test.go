// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestAnnotationsOf(t *testing.T) {
	expires := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	got := annotationsOf(reportedFacts{
		state: joinstate.State{ConfigHash: "5f6c", APIServer: "https://api.example.com:6443"},
		class: hostclass.CoreOS,
		certificates: []identity.CertificateExpiry{
			{Name: "client", NotAfter: expires.Add(time.Hour)}, {Name: "serving", NotAfter: expires},
		},
	})
	want := map[string]string{
		v1alpha1.AnnotationHostClass:          "coreos",
		v1alpha1.AnnotationCurrentConfig:      "5f6c",
		v1alpha1.AnnotationAPIServer:          "https://api.example.com:6443",
		v1alpha1.AnnotationCertificateExpires: "2027-01-02T03:04:05Z",
		v1alpha1.AnnotationState:              "Healthy",
		v1alpha1.AnnotationReason:             "",
		v1alpha1.AnnotationFailedSlot:         "",
		v1alpha1.AnnotationBlocked:            "",
		v1alpha1.AnnotationFailure:            "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestAgentState(t *testing.T) {
	finding := func(severity report.Severity, reason report.Reason, message string) Change {
		return Change{Finding: report.Finding{Severity: severity, Reason: reason, Message: message}}
	}
	drift := finding(report.SeverityWarning, report.ConfigurationDrift, "drift: /etc/a")
	problem := finding(report.SeverityProblem, report.APIServerUnreachable, "unreachable")
	for _, test := range []struct {
		name       string
		active     []Change
		unfinished string
		want       v1alpha1.AgentState
		reason     string
	}{
		{"no finding", nil, "", v1alpha1.AgentHealthy, ""},
		{"a note", []Change{finding(report.SeverityNote, "Any", "a note")}, "", v1alpha1.AgentHealthy, ""},
		{"drift", []Change{drift}, "", v1alpha1.AgentDrifted, "drift: /etc/a"},
		{"a problem after drift", []Change{drift, problem}, "", v1alpha1.AgentDegraded, "unreachable"},
		{"an upgrade", []Change{problem}, upgradeRun, v1alpha1.AgentUpgrading, "an upgrade is in progress"},
	} {
		state, reason := agentState(reportedFacts{active: test.active, unfinished: test.unfinished})
		if state != test.want || reason != test.reason {
			t.Errorf("%s: state %s (%q), want %s (%q)", test.name, state, reason, test.want, test.reason)
		}
	}
}

func TestNodeReportWrites(t *testing.T) {
	var r nodeReport
	var written []map[string]string
	failure := errors.New("unreachable")
	annotate := func(_ context.Context, annotations map[string]string) error {
		written = append(written, annotations)
		return failure
	}
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(state string) {
		r.write(t.Context(), map[string]string{v1alpha1.AnnotationState: state}, now, annotate)
	}
	write("Healthy") // fails, so that one is not omitted after the pause
	failure = nil
	write("Drifted") // during the pause
	now = now.Add(writeRetry)
	write("Healthy")
	write("Healthy") // omitted
	write("Drifted")
	now = now.Add(reportInterval)
	write("Drifted")
	want := []map[string]string{
		{v1alpha1.AnnotationState: "Healthy", v1alpha1.AnnotationReported: "2027-01-02T03:04:05Z"},
		{v1alpha1.AnnotationState: "Healthy", v1alpha1.AnnotationReported: "2027-01-02T03:05:05Z"},
		{v1alpha1.AnnotationState: "Drifted", v1alpha1.AnnotationReported: "2027-01-02T03:05:05Z"},
		{v1alpha1.AnnotationState: "Drifted", v1alpha1.AnnotationReported: "2027-01-02T03:15:05Z"},
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}
