// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
)

func newNodeIPCommand(p *cli.Printer) *cobra.Command {
	return &cobra.Command{
		Use:         "node-ip",
		Annotations: cli.ExitsWith(report.Refused, report.Interrupted),
		Short:       "Update the node address, as a unit does at boot",
		Long: `Node-ip waits up to half a minute for addresses, selects them as
nodeip-configuration.service does, and writes the drop-ins and the files in
/run/nodeip-configuration. It starts and stops nothing: kubelet and CRI-O use
the address at their next start.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options := request.Options{StateDir: joinstate.Dir, Sink: p.Sink}
			update, err := service.RefreshNodeIP(c.Context(), options)
			if err != nil && !update.Changed {
				return err
			}
			update.CommandResult = report.ResultOf(err)
			return p.Finish(err, update, func(w *report.Page) { printNodeIP(w, update) })
		},
	}
}

func printNodeIP(w io.Writer, recorded service.NodeIPResult) {
	switch {
	case recorded.Note != "":
		fmt.Fprintf(w, "%s; nothing was changed\n", recorded.Note)
	case recorded.Changed:
		fmt.Fprintf(w, "the node address changed to %s from %s; if kubelet and CRI-O are already running: "+
			"systemctl restart crio kubelet\n",
			cli.JoinAddresses(recorded.Addresses), cli.JoinAddresses(recorded.Before))
	default:
		fmt.Fprintf(w, "the node address is %s (unchanged)\n", cli.JoinAddresses(recorded.Addresses))
	}
}
