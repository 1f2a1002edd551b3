// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Each case lists the findings of consecutive checks and the changes reported after each
// check.
func TestTracker(t *testing.T) {
	for name, test := range map[string]struct{ seen, want []string }{
		"healthy":      {[]string{"", "", ""}, []string{"", "", ""}},
		"seen once":    {[]string{"a", "", ""}, []string{"", "", ""}},
		"remains":      {[]string{"a", "a", "a"}, []string{"", "+a", ""}},
		"resolved":     {[]string{"a", "a", "", ""}, []string{"", "+a", "", "-a"}},
		"missed once":  {[]string{"a", "a", "", "a", "", ""}, []string{"", "+a", "", "", "", "-a"}},
		"alternates":   {[]string{"a", "", "a", "", "a"}, []string{"", "", "", "", ""}},
		"two findings": {[]string{"a", "a b", "b", "b"}, []string{"", "+a", "+b", "-a"}},
		"same subject": {[]string{"a a", "a a"}, []string{"", "+a"}},
		"returns":      {[]string{"a", "a", "", "", "a", "a"}, []string{"", "+a", "", "-a", "", "+a"}},
		"sorted":       {[]string{"b a", "b a"}, []string{"", "+a +b"}},
		// "?" is the reason for an incomplete check.
		"incomplete": {[]string{"a", "a ?", "?", "?", "a ?", "a"}, []string{"", "+a", "+?", "", "", ""}},
		"resolved while incomplete": {
			[]string{"a", "a", "?", "?", "?", "", ""},
			[]string{"", "+a", "", "+?", "", "", "-? -a"},
		},
		"missed before incomplete":    {[]string{"a", "a", "", "?", "", ""}, []string{"", "+a", "", "", "", "-a"}},
		"seen once before incomplete": {[]string{"a", "?", "a", "a"}, []string{"", "", "", "+a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker Tracker
			for i, names := range test.seen {
				var found []report.Finding
				for _, subject := range strings.Fields(names) {
					found = append(found, report.Finding{Subject: subject, Incomplete: subject == "?"})
				}
				var changes []string
				for _, change := range tracker.update("check", found, time.Unix(int64(i), 0)) {
					sign := "+"
					if change.Resolved {
						sign = "-"
					}
					changes = append(changes, sign+change.Subject)
				}
				if got := strings.Join(changes, " "); got != test.want[i] {
					t.Errorf("check %d of %q reports %q, want %q", i, names, got, test.want[i])
				}
				// Another check does not resolve the findings of this check.
				tracker.update("another", nil, time.Unix(int64(i), 0))
			}
		})
	}
}

// A finding about the same subject with another reason is another problem: the old one
// is resolved and the new one is reported.
func TestTrackerReportsChangeOfReason(t *testing.T) {
	var tracker Tracker
	var got []string
	for second, reason := range []report.Reason{"A", "A", "B", "B"} {
		found := []report.Finding{{Reason: reason, Subject: "subject"}}
		for _, change := range tracker.update("check", found, time.Unix(int64(second), 0)) {
			got = append(got, fmt.Sprint(second, " ", change.Reason, " resolved: ", change.Resolved))
		}
	}
	want := []string{"1 A resolved: false", "3 A resolved: true", "3 B resolved: false"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An incomplete check is repeated at its normal interval.
func TestIncompleteChecksAreNotRepeatedEarly(t *testing.T) {
	var tracker Tracker
	for second, found := range [][]report.Finding{
		{{Subject: "reported"}, {Subject: "seen once"}},
		{{Subject: "reported"}},
		nil,
		{{Subject: "?", Incomplete: true}},
		{{Subject: "?", Incomplete: true}},
	} {
		tracker.update("check", found, time.Unix(int64(second), 0))
	}
	if tracker.needsConfirmation("check") {
		t.Errorf("the check is repeated early: %+v", tracker.all)
	}
}

func TestActiveIsSorted(t *testing.T) {
	var tracker Tracker
	for _, second := range []int64{10, 20} {
		tracker.update("late", []report.Finding{{Severity: report.SeverityProblem, Subject: "late"}}, time.Unix(second, 0))
	}
	for _, second := range []int64{5, 6, 7} {
		tracker.update("early", []report.Finding{
			{Severity: report.SeverityWarning, Subject: "warning"}, {
				Severity: report.SeverityProblem, Subject: "early",
				Message: time.Unix(second, 0).UTC().Format("05"),
			},
		}, time.Unix(second, 0))
	}
	tracker.update("new", []report.Finding{{Severity: report.SeverityProblem, Subject: "unconfirmed"}}, time.Unix(1, 0))
	var got []string
	for _, s := range tracker.active() {
		got = append(got, s.Subject+" "+s.Message)
	}
	// Sorted by severity, then by age; the text is the latest.
	if want := []string{"early 07", "late ", "warning "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if since := tracker.active()[0].Since; !since.Equal(time.Unix(5, 0)) {
		t.Errorf("since %v", since)
	}
}
