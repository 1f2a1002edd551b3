package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

type nodeIPDocument struct {
	bootstrap.NodeIPDocument
	Result
}

func newNodeIPCommand(p *Printer) *cobra.Command {
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
			options := bootstrap.Options{StateDir: bootstrap.StateDir, Sink: p.Sink}
			update, err := bootstrap.RefreshNodeIP(c.Context(), options)
			document := nodeIPDocument{update, ResultOf(err)}
			return p.Finish(err, document, func(w io.Writer) { printNodeIP(w, update) })
		},
	}
}

func printNodeIP(w io.Writer, told bootstrap.NodeIPDocument) {
	switch {
	case told.Note != "":
		fmt.Fprintf(w, "%s; nothing was changed\n", told.Note)
	case told.Changed:
		fmt.Fprintf(w, "the node has %s now, and had %s; where kubelet and CRI-O run already: systemctl restart crio kubelet\n",
			joinAddresses(told.Addresses), joinAddresses(told.Before))
	default:
		fmt.Fprintf(w, "the node has %s, as before\n", joinAddresses(told.Addresses))
	}
}

func joinAddresses(list []netip.Addr) string {
	texts := make([]string, 0, len(list))
	for _, address := range list {
		texts = append(texts, address.String())
	}
	if len(texts) == 0 {
		return "no address"
	}
	return strings.Join(texts, " and ")
}
