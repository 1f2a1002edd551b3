package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print writes the report as text.
func (r Report) Print(w io.Writer) {
	for _, finding := range r.Findings {
		fmt.Fprintf(w, "  %-8s %-19s  %s\n", finding.Severity, finding.Check, indented(finding.Message))
		for _, line := range finding.Remedy.Lines() {
			fmt.Fprintln(w, line)
		}
	}
	counts := cmp.Or(report.CountFindings(r.Findings), "no problems found")
	fmt.Fprintf(w, "%s: %s\n", cmp.Or(r.Hostname, "this host"), counts)
	if r.Bundle != nil {
		fmt.Fprintf(w, "%s: %s\n", r.Bundle.File, r.Bundle.Manifest)
	}
}

func indented(text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 32))
}
