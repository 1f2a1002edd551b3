// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// defaultQuietPeriod is the delay before temporary findings and additional problems are
// logged. While a node starts, many of them disappear within moments.
const defaultQuietPeriod = 10 * time.Second

// progressReporter logs the findings of a wait, each text once.
type progressReporter struct {
	log         report.Log
	quietPeriod time.Duration
	firstSeen   map[string]time.Time // when each finding was first seen
	logged      []string
	lastSummary report.Finding // the last summary, for the error at the deadline
}

func (n *Node) newProgressReporter() *progressReporter {
	return &progressReporter{
		log:         n.Log,
		quietPeriod: n.quietPeriod,
		firstSeen:   map[string]time.Time{},
		lastSummary: report.Finding{
			Severity: report.SeverityProblem,
			Message:  "Node " + n.Name + " has not been found in the cluster",
			Remedy:   "systemctl status kubelet",
		},
	}
}

// waitError returns the error for the end of a wait. If the deadline passed, it
// logs the details of the last summary.
func (r *progressReporter) waitError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		for _, detail := range r.lastSummary.Details {
			r.log.Note("log output: " + detail)
		}
	}
	return report.FailureAtDeadline(ctx, err, failureOf(r.lastSummary))
}

// update logs a wait for awaited with the most direct cause, and the other problems after
// they have lasted for quietPeriod. quiet also delays a temporary first
// finding.
func (r *progressReporter) update(awaited, prefix string, findings []report.Finding, quiet bool) {
	if len(findings) == 0 {
		return
	}
	now := time.Now()
	for _, f := range findings {
		if _, known := r.firstSeen[f.Message]; !known {
			r.firstSeen[f.Message] = now
		}
	}
	lasting := func(f report.Finding) bool { return now.Sub(r.firstSeen[f.Message]) >= r.quietPeriod }
	r.lastSummary = summarize(prefix, findings)
	if !quiet || !findings[0].Temporary || lasting(findings[0]) {
		r.log.Wait(waitMessage(awaited, prefix, r.lastSummary.Message), r.lastSummary.Remedy)
	}
	for _, f := range findings[1:] {
		if f.Severity != report.SeverityNote && f.Subject != "" && !f.Temporary && lasting(f) &&
			!slices.Contains(r.logged, f.Message) {
			r.logged = append(r.logged, f.Message)
			r.log.Warn(f.Message, f.Remedy)
		}
	}
}

// summarize returns the first finding, with the subjects of other problems added
// to its text. The text starts with prefix.
func summarize(prefix string, findings []report.Finding) report.Finding {
	first := findings[0]
	if !strings.HasPrefix(first.Message, prefix) {
		first.Message = prefix + ": " + first.Message
	}
	var others []string
	for _, f := range findings[1:] {
		if f.Severity == report.SeverityProblem && f.Subject != "" {
			others = append(others, f.Subject)
		}
	}
	if len(others) > 0 {
		first.Message += fmt.Sprintf("; %d more: %s", len(others), joinFirst(others, 3))
	}
	return first
}

// waitMessage returns the message of a wait for awaited. summary is that of summarize.
func waitMessage(awaited, prefix, summary string) string {
	reason := strings.TrimPrefix(strings.TrimPrefix(summary, prefix), " yet")
	if reason != "" && reason[0] != ':' && reason[0] != ';' {
		reason = ": " + summary
	}
	return "waiting for " + awaited + reason
}

// joinFirst joins the first names and counts the rest.
func joinFirst(names []string, shown int) string {
	if len(names) > shown+1 { // "and 1 more" is not shorter than the name
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// failureOf returns the failure that results from a finding.
func failureOf(f report.Finding) error { return report.Fail(report.Failed, f.Remedy, "%s", f.Message) }
