// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
)

func newStatusCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "status",
		Annotations: cli.ExitsWith(report.Refused, report.RebootNeeded, report.DriftFound),
		Short:       "Print the state of the node and its drift since the join",
		Long: `Status prints the state of the join, the node and its services, and the drift
since the join. It changes nothing.

The exit code is 0 if the host has joined, its Node is Ready and nothing has
drifted, 8 after drift, and 1 otherwise.`,
		Example: "  hcp-node-agent status\n  hcp-node-agent status --watch=10s",
		Args:    cli.NoArgs,
	}
	c.Flags().SortFlags = false
	watch := c.Flags().DurationP("watch", "w", 0,
		"print the status again at this `INTERVAL`, 5s if it is empty, until it is interrupted")
	c.Flags().Lookup("watch").NoOptDefVal = "5s"
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *watch > 0 {
			return watchStatus(c.Context(), p, joinstate.Dir, *watch)
		}
		return showStatus(c.Context(), p, joinstate.Dir)
	}
	return c
}

// showStatus prints the status, and fails unless the node is as it should be.
func showStatus(ctx context.Context, p *cli.Printer, stateDir string) error {
	document, err := status.Get(ctx, stateDir)
	if err != nil {
		return err
	}
	err = p.Document(document, func(page *report.Page) {
		if document.Phase != joinstate.PhaseNone || document.Changes > 0 { // otherwise the failure contains everything
			document.Print(page, time.Now())
		}
	})
	return cmp.Or(err, document.Err())
}

// watchStatus prints the status at an interval until ctx ends. With JSON output, each document is
// one line.
func watchStatus(ctx context.Context, p *cli.Printer, stateDir string, interval time.Duration) error {
	p.OneLine = true
	for {
		document, err := status.Get(ctx, stateDir)
		if err != nil {
			return err
		}
		err = p.Document(document, func(page *report.Page) {
			page.Printf("%s\n", report.Timestamp(time.Now()))
			document.Print(page, time.Now())
			page.Printf("\n")
		})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}
