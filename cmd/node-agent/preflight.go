// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func newPreflightCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "preflight",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.RebootNeeded),
		Short:       "Check whether this host can join, without changing anything",
		Args:        cli.NoArgs,
	}
	file := settingFlags(c, planSettings...)
	c.RunE = withOptions(p, file, func(ctx context.Context, options request.Options) error {
		document, err := preview.Preflight(ctx, options)
		if err != nil {
			return err
		}
		return cmp.Or(p.Document(document, func(page *report.Page) { printPreflight(page, document) }), document.Err())
	})
	return c
}

func printPreflight(page *report.Page, document preview.PreflightDocument) {
	page.Printf("%s\n", document.Summary())
	page.Findings(slices.SortedStableFunc(slices.Values(document.Findings), report.CompareSeverity))
}
