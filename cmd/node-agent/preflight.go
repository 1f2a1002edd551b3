package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
)

func newPreflightCommand(p *cli.Printer) *cobra.Command {
	return newReportCommand(p, "preflight", "Check whether this host can join, without changing anything",
		planSettings, plan.Preflight, printPreflight)
}

func printPreflight(w io.Writer, document plan.PreflightDocument) {
	fmt.Fprintln(w, document.Summary())
	for _, finding := range document.Findings {
		fmt.Fprintf(w, "  %-8s %s: %s\n", finding.Severity, finding.Check, finding.Message)
		for _, line := range finding.Remedy.Lines() {
			fmt.Fprintln(w, line)
		}
	}
}
