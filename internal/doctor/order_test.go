// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A node has the drift before the warnings with which it has joined.
func TestChangesFirst(t *testing.T) {
	distribution, drift, stopped := warning("", "distribution"), warning("", "drift"), problem("", "NetworkManager")
	distribution.Check, drift.Check, stopped.Check = hostSection, "drift", hostSection
	got := formatFindings(sortFindings(changesFirst([]report.Finding{distribution, drift, stopped})))
	if diff := cmp.Diff([]string{"problem: NetworkManager", "warning: drift", "warning: distribution"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The last error in a journal matters only beside a problem or a warning.
func TestUsualErrorsOfHealthyNode(t *testing.T) {
	logged := note("journalctl -b -u kubelet", "the last error of kubelet")
	logged.Check = journalSection
	for _, test := range []struct {
		found []report.Finding
		want  int
	}{
		{[]report.Finding{passed("healthy"), logged, note("", "another note")}, 2},
		{[]report.Finding{warning("", "not healthy"), logged}, 2},
		{[]report.Finding{problem("", "not healthy"), logged}, 2},
	} {
		if got := withoutUsualErrors(test.found); len(got) != test.want {
			t.Errorf("%+v", got)
		}
	}
}

func TestDoctorSortsFindings(t *testing.T) {
	got := sortFindings([]report.Finding{
		{Check: "a", Severity: report.SeverityOK, Message: "fine"},
		{Check: "b", Severity: report.SeverityProblem, Message: "foreign", RefusesJoin: true},
		{Check: "c", Severity: report.SeverityWarning, Message: "it said \x1b[2Jpassword=hunter2"},
		{Check: "d", Severity: report.SeverityProblem, Message: "foreign"},
		{Check: "e", Severity: report.SeverityNote, Message: "note", Remedy: "a\nb"},
		{Check: "f", Severity: report.SeverityProblem, Message: "last"},
	})
	want := []report.Finding{
		{Check: "d", Severity: report.SeverityProblem, Message: "foreign"},
		{Check: "f", Severity: report.SeverityProblem, Message: "last"},
		{Check: "c", Severity: report.SeverityWarning, Message: `it said \x1b[2Jpassword=***`},
		{Check: "e", Severity: report.SeverityNote, Message: "note", Remedy: "a\nb"},
		{Check: "a", Severity: report.SeverityOK, Message: "fine"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
