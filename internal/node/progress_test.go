// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestSummarize(t *testing.T) {
	f := func(text, about string, severity report.Severity) report.Finding {
		return report.Finding{Message: text, Subject: about, Severity: severity}
	}
	for name, test := range map[string]struct {
		findings []report.Finding
		want     string
	}{
		"one": {[]report.Finding{f("a is so", "a", report.SeverityProblem)}, "Node w is not Ready: a is so"},
		"reports first": {
			[]report.Finding{f("Node w is not Ready yet", "", report.SeverityProblem)},
			"Node w is not Ready yet",
		},
		"others": {[]report.Finding{
			f("a", "a", report.SeverityProblem), f("state", "", report.SeverityProblem),
			f("b", "b", report.SeverityProblem), f("c", "c", report.SeverityWarning), f("d", "d",
				report.SeverityProblem),
		}, "Node w is not Ready: a; 2 more: b, d"},
		"many": {
			[]report.Finding{
				f("a", "a", report.SeverityProblem), f("", "b", report.SeverityProblem),
				f("", "c", report.SeverityProblem), f("", "d", report.SeverityProblem), f("", "e",
					report.SeverityProblem), f("", "f", report.SeverityProblem),
			},
			"Node w is not Ready: a; 5 more: b, c, d and 2 more",
		},
	} {
		if got := summarize("Node w is not Ready", test.findings); got.Message != test.want {
			t.Errorf("%s: %q, want %q", name, got.Message, test.want)
		}
	}
}

func TestProgressReporterDelaysTemporaryFindings(t *testing.T) {
	temporary := report.Finding{Severity: report.SeverityProblem, Message: "it goes by itself", Temporary: true}
	first := report.Finding{Severity: report.SeverityProblem, Message: "the cause", Subject: "the cause"}
	second := report.Finding{
		Severity: report.SeverityProblem,
		Message:  "the second",
		Subject:  "the second",
		Remedy:   "do it",
	}
	note := report.Finding{Severity: report.SeverityNote, Message: "a note", Subject: "a note"}
	unsaid := report.Finding{Severity: report.SeverityProblem, Message: "a consequence"}

	for name, test := range map[string]struct {
		quietPeriod time.Duration
		quiet       bool
		findings    []report.Finding
		want        []string
	}{
		"temporary, at first": {quietPeriod: time.Hour, quiet: true, findings: []report.Finding{temporary}},
		"temporary, but requested": {
			quietPeriod: time.Hour, findings: []report.Finding{temporary},
			want: []string{"waiting waiting for the Node: it goes by itself"},
		},
		"temporary, but it lasts": {
			quiet: true, findings: []report.Finding{temporary},
			want: []string{"waiting waiting for the Node: it goes by itself", "waiting waiting for the Node: it goes by itself"},
		},
		"others, at first": {
			quietPeriod: time.Hour,
			quiet:       true,
			findings:    []report.Finding{first, second},
			want: []string{"waiting waiting for the Node: the cause; 1 more: the second", "waiting waiting for the Node: " +
				"the cause; 1 more: the second"},
		},
		"others that last, once": {
			quiet: true, findings: []report.Finding{first, second, note, temporary, unsaid},
			want: []string{
				"waiting waiting for the Node: the cause; 1 more: the second", "warning the second",
				"waiting waiting for the Node: the cause; 1 more: the second",
			},
		},
		"nothing is wrong at all": {quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := &reporttest.Recorder{}
			reporter := &progressReporter{log: recorded.Log(), quietPeriod: test.quietPeriod, firstSeen: map[string]time.Time{}}
			for range 2 {
				reporter.update("the Node", "w", test.findings, test.quiet)
			}
			var got []string
			for _, event := range recorded.Events() {
				got = append(got, string(event.Kind)+" "+event.Message)
			}
			if name == "temporary, but requested" {
				got = got[:1]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(test.findings) > 0 && report.CodeOf(failureOf(reporter.lastSummary)) != report.Failed {
				t.Error("the last sentence is not kept for the end")
			}
		})
	}
}

// At its deadline a wait also logs the details of its last summary.
func TestProgressReporterLogsDetailsAtDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	recorded := &reporttest.Recorder{}
	reporter := &progressReporter{
		log:         recorded.Log(),
		lastSummary: report.Finding{Message: "the cause", Remedy: "oc describe node", Details: []string{"one", "two"}},
	}
	err := reporter.waitError(ctx, ctx.Err())
	if err == nil || err.Error() != "the cause" || report.RemedyOf(err) != "oc describe node" ||
		recorded.Text() != "log output: one\n\nlog output: two\n\n" {
		t.Errorf("waitError() = %v; it said %q", err, recorded.Text())
	}
	if err := reporter.waitError(t.Context(), nil); err != nil {
		t.Errorf("waitError() = %v for a wait that ended well", err)
	}
}
