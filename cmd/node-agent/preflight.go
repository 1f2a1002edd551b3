// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	page.Findings(document.Findings)
}
