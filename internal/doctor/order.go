// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// changesFirst returns the findings with the warnings of the checks of a join last. On a node, what has changed since
// the join is of more interest than what was accepted with it.
func changesFirst(findings []report.Finding) []report.Finding {
	ofJoin := []string{hostSection, steps.Validate}
	var changes, accepted []report.Finding
	for _, one := range findings {
		if one.Severity == report.SeverityWarning && slices.Contains(ofJoin, one.Check) {
			accepted = append(accepted, one)
		} else {
			changes = append(changes, one)
		}
	}
	return slices.Concat(changes, accepted)
}

// withoutUsualErrors returns the findings without the last errors in journals, if there is neither a problem nor a
// warning: the services of a healthy node log errors, too.
func withoutUsualErrors(findings []report.Finding) []report.Finding {
	if slices.ContainsFunc(findings, func(one report.Finding) bool {
		return one.Severity == report.SeverityProblem || one.Severity == report.SeverityWarning
	}) {
		return findings
	}
	return slices.DeleteFunc(findings, func(one report.Finding) bool {
		return one.Check == journalSection && one.Severity == report.SeverityNote
	})
}

// sortFindings sorts findings by severity, the most severe first, and removes
// duplicates. It masks secrets and escapes control characters, which messages of other
// programs may contain.
func sortFindings(findings []report.Finding) []report.Finding {
	for i := range findings {
		finding := &findings[i]
		finding.Message = redact.Text(report.Escape(finding.Message))
		finding.Remedy = report.Remedy(report.Escape(string(finding.Remedy)))
	}
	slices.SortStableFunc(findings, report.CompareSeverity)
	var once []report.Finding
	for _, finding := range findings {
		// Sections that run the same check report it with the same text. Keep the finding
		// that affects the node now rather than the one that would only refuse a join.
		at := slices.IndexFunc(once, func(one report.Finding) bool { return one.Message == finding.Message })
		if at < 0 {
			once = append(once, finding)
		} else if one := &once[at]; one.RefusesJoin && !finding.RefusesJoin && finding.Severity == one.Severity {
			*one = finding
		}
	}
	return once
}
