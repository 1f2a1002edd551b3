// Package preflight checks whether a host can join: what can be known before
// the payload (Host), and what needs it (Admission). Checks change nothing and
// tell all problems at once, each with a remedy. The same checks serve the
// verb preflight, join and doctor.
package preflight

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Severity is how much a finding matters.
type Severity string

// The severities: an error refuses the join, a warning is shown, and a reboot
// is an error that ends when the host has been rebooted as the remedy says.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Reboot  Severity = "reboot"
)

// Finding is one thing that a check found wrong.
type Finding struct {
	Check    string        `json:"check"`
	Severity Severity      `json:"severity"`
	Message  string        `json:"message"`
	Remedy   report.Remedy `json:"remedy,omitempty"`

	code report.Code // of the join that it refuses, when it is not Refused
}

// Check is a named question to facts of type F; the answer is what is wrong,
// nothing when all is well.
type Check[F any] struct {
	Name string // stable, kebab-case
	What string // what it looks at
	Find func(F) []Finding
}

// Result is what a list of checks found.
type Result struct {
	Checked  int       `json:"checked"`
	Findings []Finding `json:"findings"`
}

// Run asks all checks.
func Run[F any](checks []Check[F], facts F) Result {
	result := Result{Checked: len(checks), Findings: []Finding{}}
	for _, check := range checks {
		for _, finding := range check.Find(facts) {
			finding.Check = check.Name
			result.Findings = append(result.Findings, finding)
		}
	}
	return result
}

// Count tells how many findings have a severity.
func (r Result) Count(severity Severity) int {
	n := 0
	for _, finding := range r.Findings {
		if finding.Severity == severity {
			n++
		}
	}
	return n
}

// Summary says the result in one line.
func (r Result) Summary() string {
	text := fmt.Sprintf("%d checks", r.Checked)
	for _, severity := range []Severity{Error, Reboot, Warning} {
		switch n := r.Count(severity); {
		case n == 1:
			text += ", 1 " + string(severity)
		case n > 1:
			text += fmt.Sprintf(", %d %ss", n, severity)
		}
	}
	return text
}

// Err is the failure that the findings amount to, nil when none refuses. All
// of them are in it, with their remedies.
func (r Result) Err() error {
	var messages, remedies []string
	code := report.Done
	for _, finding := range r.Findings {
		if finding.Severity == Warning {
			continue
		}
		messages = append(messages, finding.Message)
		if finding.Remedy != "" {
			remedies = append(remedies, string(finding.Remedy))
		}
		code = worse(code, finding)
	}
	if len(messages) == 0 {
		return nil
	}
	return report.Fail(code, strings.Join(remedies, "\n"), "%s", strings.Join(messages, "; "))
}

// worse is the code of a refusal with one more finding: that of a single
// cause, else Refused.
func worse(code report.Code, finding Finding) report.Code {
	own := finding.code
	if own == report.Done {
		own = report.Refused
		if finding.Severity == Reboot {
			own = report.RebootNeeded
		}
	}
	if code == report.Done || code == own {
		return own
	}
	return report.Refused
}

func fail(remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: Error, Message: fmt.Sprintf(format, args...), Remedy: report.Remedy(remedy)}}
}

func warn(remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: Warning, Message: fmt.Sprintf(format, args...), Remedy: report.Remedy(remedy)}}
}

// failAs is an error that another part has put into words already.
func failAs(err error) []Finding {
	if err == nil {
		return nil
	}
	return []Finding{{Severity: Error, Message: err.Error(), Remedy: report.Remedy(report.RemedyOf(err)), code: report.CodeOf(err)}}
}
