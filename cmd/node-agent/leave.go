package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newLeaveCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "leave",
		Short: "Remove this host from the cluster and restore its former state",
		Long: `Leave drains the node, stops kubelet and its containers, and reverts every
change by the ledger, newest first. It removes what kubelet, CRI-O and pods
created, and keeps and lists what others changed since, or created in
directories that they share with the cluster. Run it again to resume after a
stop.`,
		Args: cobra.NoArgs,
	}
	noDrain := c.Flags().Bool("no-drain", false, "do not drain the node first")
	purge := c.Flags().Bool("purge", false,
		"also remove files that others can have put beside the cluster's since the join")
	c.RunE = func(c *cobra.Command, _ []string) error {
		left, err := leave.Run(c.Context(), leave.Options{
			Options:  inputs.Options{StateDir: joinstate.Dir, Sink: p.Sink},
			Drain:    !*noDrain,
			Purge:    *purge,
			AutoJoin: autojoin.Files{Dir: autojoin.DefaultDir},
		})
		p.StepReported = err != nil && stepFailed(p.Recorder)
		if err != nil && len(p.Recorder.Steps) == 0 {
			return err
		}
		left.CommandResult = report.ResultOf(err)
		return p.Finish(err, left, func(w io.Writer) { printLeave(w, left) })
	}
	return c
}

func printLeave(w io.Writer, left leave.Document) {
	fmt.Fprintf(w, "\n%d things are as they were before the join\n", left.Restored)
	if n := len(left.Removed); n > 0 {
		fmt.Fprintf(w, "removed, of kubelet, CRI-O and pods: %d\n", n)
	}
	if n := len(left.Kept); n > 0 {
		fmt.Fprintf(w, "kept, as others changed or created it: %d\n", n)
		for _, kept := range left.Kept {
			fmt.Fprintf(w, "  %s %s\n", kept.Kind, kept.Target)
		}
	}
	if left.Next != "" {
		fmt.Fprintf(w, "the Node object is still in the cluster; an administrator deletes it:\n  %s\n", left.Next)
	}
}
