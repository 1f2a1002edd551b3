package monitor

import (
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
		"all is well":         {[]string{"", "", ""}, []string{"", "", ""}},
		"seen once":           {[]string{"a", "", ""}, []string{"", "", ""}},
		"stays":               {[]string{"a", "a", "a"}, []string{"", "+a", ""}},
		"comes and goes":      {[]string{"a", "a", "", ""}, []string{"", "+a", "", "-a"}},
		"missed once":         {[]string{"a", "a", "", "a", "", ""}, []string{"", "+a", "", "", "", "-a"}},
		"flickers":            {[]string{"a", "", "a", "", "a"}, []string{"", "", "", "", ""}},
		"two":                 {[]string{"a", "a b", "b", "b"}, []string{"", "+a", "+b", "-a"}},
		"about the same":      {[]string{"a a", "a a"}, []string{"", "+a"}},
		"comes back":          {[]string{"a", "a", "", "", "a", "a"}, []string{"", "+a", "", "-a", "", "+a"}},
		"told in their order": {[]string{"b a", "b a"}, []string{"", "+a +b"}},
		// "?" is the reason for an incomplete check.
		"not seen":             {[]string{"a", "a ?", "?", "?", "a ?", "a"}, []string{"", "+a", "+?", "", "", ""}},
		"gone meanwhile":       {[]string{"a", "a", "?", "?", "?", "", ""}, []string{"", "+a", "", "+?", "", "", "-? -a"}},
		"missed before":        {[]string{"a", "a", "", "?", "", ""}, []string{"", "+a", "", "", "", "-a"}},
		"seen once, then none": {[]string{"a", "?", "a", "a"}, []string{"", "", "", "+a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker Tracker
			for i, names := range test.seen {
				var found []report.Finding
				for _, about := range strings.Fields(names) {
					found = append(found, report.Finding{Subject: about, Incomplete: about == "?"})
				}
				var changes []string
				for _, change := range tracker.update("look", found, time.Unix(int64(i), 0)) {
					sign := "+"
					if change.Resolved {
						sign = "-"
					}
					changes = append(changes, sign+change.Subject)
				}
				if got := strings.Join(changes, " "); got != test.want[i] {
					t.Errorf("look %d of %q tells %q, want %q", i, names, got, test.want[i])
				}
				// Another check does not resolve the findings of this check.
				tracker.update("another", nil, time.Unix(int64(i), 0))
			}
		})
	}
}

// An incomplete check is repeated at its normal interval.
func TestIncompleteChecksAreNotRepeatedEarly(t *testing.T) {
	var tracker Tracker
	for second, found := range [][]report.Finding{{{Subject: "told"}, {Subject: "seen once"}}, {{Subject: "told"}}, nil, {{Subject: "?", Incomplete: true}}, {{Subject: "?", Incomplete: true}}} {
		tracker.update("look", found, time.Unix(int64(second), 0))
	}
	if tracker.needsConfirmation("look") {
		t.Errorf("it is to be looked at again: %+v", tracker.all)
	}
}

func TestActiveIsSorted(t *testing.T) {
	var tracker Tracker
	for _, second := range []int64{10, 20} {
		tracker.update("late", []report.Finding{{Severity: report.SeverityProblem, Subject: "late"}}, time.Unix(second, 0))
	}
	for _, second := range []int64{5, 6, 7} {
		tracker.update("early", []report.Finding{
			{Severity: report.SeverityWarning, Subject: "warned"}, {Severity: report.SeverityProblem, Subject: "early", Message: time.Unix(second, 0).UTC().Format("05")},
		}, time.Unix(second, 0))
	}
	tracker.update("new", []report.Finding{{Severity: report.SeverityProblem, Subject: "not told yet"}}, time.Unix(1, 0))
	var got []string
	for _, s := range tracker.active() {
		got = append(got, s.Subject+" "+s.Message)
	}
	// Sorted by severity, then by age; the text is the latest.
	if want := []string{"early 07", "late ", "warned "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if since := tracker.active()[0].Since; !since.Equal(time.Unix(5, 0)) {
		t.Errorf("since %v", since)
	}
}
