// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

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
		first.Message += "; also: " + joinFirst(others, 3)
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
