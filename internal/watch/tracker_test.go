package watch

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
				var found []Finding
				for _, about := range strings.Fields(names) {
					found = append(found, Finding{About: about, Blind: about == "?"})
				}
				var told []string
				for _, change := range tracker.See("look", found, time.Unix(int64(i), 0)) {
					sign := "+"
					if change.Gone {
						sign = "-"
					}
					told = append(told, sign+change.About)
				}
				if got := strings.Join(told, " "); got != test.want[i] {
					t.Errorf("look %d of %q tells %q, want %q", i, names, got, test.want[i])
				}
				// Another check does not resolve the findings of this check.
				tracker.See("another", nil, time.Unix(int64(i), 0))
			}
		})
	}
}

// An incomplete check is repeated at its normal interval.
func TestBlindLooksAreNoReasonToLookAgain(t *testing.T) {
	var tracker Tracker
	for second, found := range [][]Finding{{{About: "told"}, {About: "seen once"}}, {{About: "told"}}, nil, {{About: "?", Blind: true}}, {{About: "?", Blind: true}}} {
		tracker.See("look", found, time.Unix(int64(second), 0))
	}
	if tracker.unsettled("look") {
		t.Errorf("it is to be looked at again: %+v", tracker.all)
	}
}

func TestStanding(t *testing.T) {
	var tracker Tracker
	for _, second := range []int64{10, 20} {
		tracker.See("late", []Finding{{Severity: report.SeverityProblem, About: "late"}}, time.Unix(second, 0))
	}
	for _, second := range []int64{5, 6, 7} {
		tracker.See("early", []Finding{
			{Severity: report.SeverityWarning, About: "warned"}, {Severity: report.SeverityProblem, About: "early", Text: time.Unix(second, 0).UTC().Format("05")},
		}, time.Unix(second, 0))
	}
	tracker.See("new", []Finding{{Severity: report.SeverityProblem, About: "not told yet"}}, time.Unix(1, 0))
	var got []string
	for _, s := range tracker.Standing() {
		got = append(got, s.About+" "+s.Text)
	}
	// Sorted by severity, then by age; the text is the latest.
	if want := []string{"early 07", "late ", "warned "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if since := tracker.Standing()[0].Since; !since.Equal(time.Unix(5, 0)) {
		t.Errorf("since %v", since)
	}
}
