// SPDX-License-Identifier: Apache-2.0

// Package preflight checks whether a host can join. HostChecks returns the checks that do not
// need the payload, and PayloadChecks those that do. Checks change nothing and report all
// problems at once, each with a remedy. The commands preflight, join and doctor run the
// same checks.
package preflight

import (
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Check is a named check of facts of type F. Find returns the problems, or nothing.
type Check[F any] struct {
	Name        string // stable, kebab-case
	Description string // what the check examines
	Find        func(F) []report.Finding
}

// Result is the result of a list of checks.
type Result struct {
	Checked  int              `json:"checked" doc:"number of checks that were run"`
	Findings []report.Finding `json:"findings" doc:"findings of the checks"`
}

// Run runs all checks.
func Run[F any](checks []Check[F], facts F) Result {
	result := Result{Checked: len(checks)}
	for _, check := range checks {
		for _, finding := range check.Find(facts) {
			finding.Check = check.Name
			result.Findings = append(result.Findings, finding)
		}
	}
	return result
}

// Summary returns the result in one line.
func (r Result) Summary() string {
	text := fmt.Sprintf("%d checks", r.Checked)
	if counts := report.CountFindings(r.Findings); counts != "" {
		text += ", " + counts
	}
	return text
}

// Err returns the failure for all findings that refuse the join, nil if there are none.
func (r Result) Err() error { return report.Refusal(r.Findings) }

// WithoutRefusal returns the result with problems as warnings.
func (r Result) WithoutRefusal() Result {
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		r.Findings[i].RefusesJoin = false
		if r.Findings[i].Severity == report.SeverityProblem {
			r.Findings[i].Severity = report.SeverityWarning
		}
	}
	return r
}

func errorFinding(remedy report.Remedy, format string, args ...any) []report.Finding {
	return []report.Finding{report.Refusalf(remedy, format, args...)}
}

// errorIf returns errorFinding if the condition holds.
func errorIf(condition bool, remedy report.Remedy, format string, args ...any) []report.Finding {
	if !condition {
		return nil
	}
	return errorFinding(remedy, format, args...)
}

func warningFinding(remedy report.Remedy, format string, args ...any) []report.Finding {
	return []report.Finding{report.Findingf(report.SeverityWarning, remedy, format, args...)}
}

// findingFromError returns a finding for an error that already has a code and a remedy.
func findingFromError(err error) []report.Finding {
	if err == nil {
		return nil
	}
	return []report.Finding{report.RefusingFinding(err)}
}
