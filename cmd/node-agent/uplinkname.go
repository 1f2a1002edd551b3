// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
)

func newUplinkNameCommand(p *cli.Printer) *cobra.Command {
	return &cobra.Command{
		Use:         "uplink-name",
		Annotations: cli.ExitsWith(report.Refused),
		Short:       "Update the uplink's name in the profiles of br-ex, as a unit does at boot",
		Long: `Uplink-name finds the uplink by its permanent MAC address, and writes its name
to the profiles of br-ex if it differs. It runs before NetworkManager reads
them.`,
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			names, err := service.FollowUplink(c.Context())
			if err != nil {
				return err
			}
			return p.Document(names, func(w *report.Page) { printUplinkName(w, names) })
		},
	}
}

func printUplinkName(w io.Writer, names service.UplinkNameResult) {
	switch names.Before {
	case "":
		fmt.Fprintln(w, "no br-ex of this agent records the uplink's MAC address; nothing was changed")
	case names.Now:
		fmt.Fprintf(w, "the uplink's name is %s (unchanged)\n", names.Now)
	default:
		fmt.Fprintf(w, "the uplink's name changed from %s to %s at this boot; its profiles were updated\n", names.Before,
			names.Now)
	}
}
