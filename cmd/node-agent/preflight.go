package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newPreflightCommand(p *cli.Printer) *cobra.Command {
	return newReportCommand(p, "preflight", "Check whether this host can join, without changing anything",
		planSettings, plan.Preflight, printPreflight)
}

func printPreflight(page *report.Page, document plan.PreflightDocument) {
	page.Printf("%s\n", document.Summary())
	for _, finding := range document.Findings {
		severity := page.BySeverity(finding.Severity, fmt.Sprintf("%-8s", finding.Severity))
		page.Item(fmt.Sprintf("  %s %-19s  ", severity, finding.Check), finding.Message)
		page.Remedy(finding.Remedy)
	}
}
