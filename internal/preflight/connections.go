// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Connection is a server to which a node connects, and whether this host can connect as the node does.
type Connection struct {
	Name        string        // as in messages: "the API server"
	Needed      string        // clause: what fails without the server
	RefusesJoin bool          // a join fails without the server
	Err         error         // nil: the server responds, or was not checked
	Unchecked   string        // why it was not checked; "" if it was
	Remedy      report.Remedy // how to check it, if it was not
}

// ConnectionCheck returns the check of the servers to which a node connects, besides the ignition server.
func ConnectionCheck() Check[[]Connection] {
	return Check[[]Connection]{"connections", "the servers to which a node connects are reachable", checkConnections}
}

// AnyChecked reports whether at least one server was checked.
func AnyChecked(connections []Connection) bool {
	return slices.ContainsFunc(connections, func(c Connection) bool { return c.Unchecked == "" })
}

func checkConnections(connections []Connection) []report.Finding {
	var findings []report.Finding
	for _, c := range connections {
		finding := report.Finding{Severity: report.SeverityWarning}
		switch {
		case c.Unchecked != "":
			finding.Severity, finding.Remedy = report.SeverityNote, c.Remedy
			finding.Message = fmt.Sprintf("%s: not checked: %s", c.Name, c.Unchecked)
		case c.Err == nil:
			continue
		case c.RefusesJoin:
			finding = report.RefusingFinding(c.Err)
			finding.Message = fmt.Sprintf("%s: %v; %s", c.Name, c.Err, c.Needed)
		default:
			finding.Remedy = report.RemedyOf(c.Err)
			finding.Message = fmt.Sprintf("%s: %v; %s", c.Name, c.Err, c.Needed)
		}
		findings = append(findings, finding)
	}
	return findings
}
