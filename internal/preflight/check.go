// Package preflight checks whether a host can join. HostChecks returns the checks that do not
// need the payload, and PayloadChecks those that do. Checks change nothing and report all
// problems at once, each with a remedy. The commands preflight, join and doctor run the
// same checks.
package preflight

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Severity is the severity of a finding.
type Severity string

// The severities. An error refuses the join. A warning is only shown. A reboot is an error
// that a reboot according to the remedy resolves.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityReboot  Severity = "reboot"
)

// Enum returns all severities.
func (Severity) Enum() []string {
	return schema.Strings(SeverityError, SeverityWarning, SeverityReboot)
}

// Finding is one problem that a check found.
type Finding struct {
	Check    string        `json:"check" doc:"name of the check"`
	Severity Severity      `json:"severity" doc:"error and reboot refuse a join; a reboot resolves the problem"`
	Message  string        `json:"message" doc:"problem in one sentence"`
	Remedy   report.Remedy `json:"remedy,omitempty" doc:"how to resolve the problem"`

	code report.Code // exit code of the refusal, if not Refused
}

// Check is a named check of facts of type F. Find returns the problems, or nothing.
type Check[F any] struct {
	Name        string // stable, kebab-case
	Description string // what the check examines
	Find        func(F) []Finding
}

// Result is the result of a list of checks.
type Result struct {
	Checked  int       `json:"checked" doc:"number of checks that were run"`
	Findings []Finding `json:"findings" doc:"problems that the checks found"`
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

// Count returns the number of findings of a severity.
func (r Result) Count(severity Severity) int {
	n := 0
	for _, finding := range r.Findings {
		if finding.Severity == severity {
			n++
		}
	}
	return n
}

// Summary returns the result in one line.
func (r Result) Summary() string {
	text := fmt.Sprintf("%d checks", r.Checked)
	for _, severity := range []Severity{SeverityError, SeverityReboot, SeverityWarning} {
		switch n := r.Count(severity); {
		case n == 1:
			text += ", 1 " + string(severity)
		case n > 1:
			text += fmt.Sprintf(", %d %ss", n, severity)
		}
	}
	return text
}

// Err returns the failure for all findings that refuse the join, with their remedies. It
// returns nil if there are none.
func (r Result) Err() error {
	var messages, remedies []string
	code := report.Success
	for _, finding := range r.Findings {
		if finding.Severity == SeverityWarning {
			continue
		}
		messages = append(messages, finding.Message)
		if finding.Remedy != "" {
			remedies = append(remedies, string(finding.Remedy))
		}
		code = combineCodes(code, finding)
	}
	if len(messages) == 0 {
		return nil
	}
	return report.Fail(code, strings.Join(remedies, "\n"), "%s", strings.Join(messages, "; "))
}

// combineCodes returns the exit code of a refusal after adding a finding: the code of a single
// cause, else Refused.
func combineCodes(code report.Code, finding Finding) report.Code {
	own := finding.code
	if own == report.Success {
		own = report.Refused
		if finding.Severity == SeverityReboot {
			own = report.RebootNeeded
		}
	}
	if code == report.Success || code == own {
		return own
	}
	return report.Refused
}

func errorFinding(remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: SeverityError, Message: fmt.Sprintf(format, args...), Remedy: report.Remedy(remedy)}}
}

func warningFinding(remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: SeverityWarning, Message: fmt.Sprintf(format, args...), Remedy: report.Remedy(remedy)}}
}

// findingFromError returns a finding for an error that already has a code and a remedy.
func findingFromError(err error) []Finding {
	if err == nil {
		return nil
	}
	return []Finding{{Severity: SeverityError, Message: err.Error(), Remedy: report.Remedy(report.RemedyOf(err)), code: report.CodeOf(err)}}
}
