package doctor

import (
	"cmp"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print writes the report as text. Checks without problems are on one line each.
func (r Report) Print(page *report.Page) {
	for _, finding := range r.Findings {
		severity := page.BySeverity(finding.Severity, fmt.Sprintf("%-8s", finding.Severity))
		page.Item(fmt.Sprintf("  %s %-19s  ", severity, finding.Check), finding.Message)
		page.Remedy(finding.Remedy)
	}
	counts := page.Good("no problems found")
	if text := report.CountFindings(r.Findings); text != "" {
		counts = text
	}
	page.Printf("%s: %s\n", cmp.Or(r.NodeName, r.Hostname, "this host"), counts)
	if r.Bundle != nil {
		page.Item("", fmt.Sprintf("%s: %s", r.Bundle.File, r.Bundle.Manifest))
	}
}
