// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/hcp-node-agent/hcp-node-agent/internal/schema"

// Severity is the severity of a finding about a host or its node.
type Severity string

// The severities, most severe first.
const (
	SeverityProblem Severity = "problem" // refuses a join, or impairs the node now
	SeverityWarning Severity = "warning" // needs attention
	SeverityNote    Severity = "note"    // informational
	SeverityOK      Severity = "ok"      // no problem
)

// Enum returns all severities.
func (Severity) Enum() []string { return schema.Strings(severities()...) }

// severities returns all severities, most severe first.
func severities() []Severity {
	return []Severity{SeverityProblem, SeverityWarning, SeverityNote, SeverityOK}
}
