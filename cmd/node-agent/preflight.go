package main

import (
	"fmt"
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

func preflightVerb() verb {
	return verbWithDocument("preflight", "tell what stands in the way of a join; nothing is changed", bootstrap.Preflight, sayPreflight)
}

func sayPreflight(w io.Writer, document bootstrap.PreflightDocument) {
	fmt.Fprintln(w, document.Summary())
	for _, finding := range document.Findings {
		fmt.Fprintf(w, "  %-8s %s: %s\n", finding.Severity, finding.Check, finding.Message)
		for _, line := range finding.Remedy.Lines() {
			fmt.Fprintln(w, line)
		}
	}
}
