package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/boot"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newNodeIPCommand(p *cli.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "node-ip",
		Short: "Update the node's address of kubelet and CRI-O, as a unit does at boot",
		Long: `Node-ip waits up to half a minute for addresses, selects them as
nodeip-configuration.service does, and writes the drop-ins and the files in
/run/nodeip-configuration. It starts and stops nothing: kubelet and CRI-O use
the address at their next start.`,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options := inputs.Options{StateDir: joinstate.Dir, Sink: p.Sink}
			update, err := boot.RefreshNodeIP(c.Context(), options)
			if err != nil && !update.Changed {
				return err
			}
			update.CommandResult = report.ResultOf(err)
			return p.Finish(err, update, func(w io.Writer) { printNodeIP(w, update) })
		},
	}
}

func printNodeIP(w io.Writer, recorded boot.NodeIPResult) {
	switch {
	case recorded.Note != "":
		fmt.Fprintf(w, "%s; nothing was changed\n", recorded.Note)
	case recorded.Changed:
		fmt.Fprintf(w, "the node has %s now, and had %s; where kubelet and CRI-O run already: systemctl restart crio kubelet\n",
			cli.JoinAddresses(recorded.Addresses), cli.JoinAddresses(recorded.Before))
	default:
		fmt.Fprintf(w, "the node has %s, as before\n", cli.JoinAddresses(recorded.Addresses))
	}
}
