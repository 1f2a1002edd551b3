package report

// Severity is how much a finding about a host or its node matters.
type Severity string

// The severities, the worst first.
const (
	SeverityProblem Severity = "problem" // it hinders the node now
	SeverityWarning Severity = "warning" // it should be looked at
	SeverityNote    Severity = "note"    // worth knowing
	SeverityOK      Severity = "ok"      // nothing is wrong
)

// Severities lists them, the worst first.
func Severities() []Severity {
	return []Severity{SeverityProblem, SeverityWarning, SeverityNote, SeverityOK}
}
