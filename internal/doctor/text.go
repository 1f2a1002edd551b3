package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print writes the report as text.
func (r Report) Print(w io.Writer) {
	for _, finding := range r.Findings {
		fmt.Fprintf(w, "  %-8s %-19s  %s\n", finding.Severity, finding.Section, indented(finding.Text))
		for _, line := range finding.Remedy.Lines() {
			fmt.Fprintln(w, line)
		}
	}
	var counts []string
	for _, one := range []struct {
		severity report.Severity
		word     string
	}{{report.SeverityProblem, "problem"}, {report.SeverityWarning, "warning"}, {report.SeverityNote, "note"}} {
		switch n := r.Count(one.severity); n {
		case 0:
		case 1:
			counts = append(counts, "1 "+one.word)
		default:
			counts = append(counts, fmt.Sprintf("%d %ss", n, one.word))
		}
	}
	if len(counts) == 0 {
		counts = []string{"all is well"}
	}
	fmt.Fprintf(w, "%s: %s\n", hostOrDefault(r.Hostname), strings.Join(counts, ", "))
	if r.Bundle != nil {
		fmt.Fprintf(w, "%s: %s\n", r.Bundle.File, r.Bundle.Manifest)
	}
}

func indented(text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 32))
}

func hostOrDefault(name string) string {
	if name == "" {
		return "this host"
	}
	return name
}
