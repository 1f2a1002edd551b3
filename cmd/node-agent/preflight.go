// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newPreflightCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "preflight",
		Short: "Check whether this host can join, without changing anything",
		Args:  cli.NoArgs,
	}
	file := settingFlags(c, planSettings...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		options, err := optionsFrom(c, *file, p)
		if err != nil {
			return err
		}
		document, err := plan.Preflight(c.Context(), options)
		if err != nil {
			return err
		}
		return cmp.Or(p.Document(document, func(page *report.Page) { printPreflight(page, document) }), document.Err())
	}
	return c
}

func printPreflight(page *report.Page, document plan.PreflightDocument) {
	page.Printf("%s\n", document.Summary())
	page.Findings(document.Findings)
}
