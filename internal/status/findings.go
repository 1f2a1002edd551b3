// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func (d *Document) addFindings(check string, findings []report.Finding) {
	for _, finding := range findings {
		finding.Check = check
		d.Findings = append(d.Findings, finding)
	}
}

// hasFinding reports whether there is a finding with this reason.
func (d Document) hasFinding(reason report.Reason) bool {
	return slices.ContainsFunc(d.Findings, func(f report.Finding) bool { return f.Reason == reason })
}
