package main

import (
	"context"
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
		Example: "  hcp-node-agent leave --dry-run\n  hcp-node-agent leave --delete-node admin.kubeconfig",
		Args:    cobra.NoArgs,
	}
	c.Flags().SortFlags = false
	dryRun := c.Flags().Bool("dry-run", false, "only print what would be reverted")
	yes := c.Flags().BoolP("yes", "y", false, "do not ask for confirmation on a terminal")
	noDrain := c.Flags().Bool("no-drain", false, "do not drain the node")
	purge := c.Flags().Bool("purge", false,
		"also remove files that other processes may have created in the cluster's directories since the join")
	deleteNode := c.Flags().String("delete-node", "",
		"delete the Node from the cluster with this `KUBECONFIG` (- for standard input); it is not stored")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *dryRun {
			return previewLeave(c.Context(), p)
		}
		var kubeconfig []byte
		if *deleteNode != "" {
			var err error
			if kubeconfig, err = inputs.ReadFile(*deleteNode, p.In, "--delete-node"); err != nil {
				return err
			}
		}
		if !*yes && !p.Confirm("Remove this host from the cluster and revert all changes of the join?") {
			return report.Fail(report.Interrupted, "hcp-node-agent leave --dry-run # lists the changes", "not confirmed; nothing was changed")
		}
		left, err := leave.Run(c.Context(), leave.Options{
			Options:    inputs.Options{StateDir: joinstate.Dir, Sink: p.Sink},
			Drain:      !*noDrain,
			Purge:      *purge,
			DeleteNode: kubeconfig,
			AutoJoin:   autojoin.Files{Dir: autojoin.DefaultDir},
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

func previewLeave(ctx context.Context, p *cli.Printer) error {
	preview, err := leave.Preview(ctx, joinstate.Dir)
	if err != nil {
		return err
	}
	return p.Document(preview, func(w io.Writer) { printLeavePreview(w, preview) })
}

func printLeavePreview(w io.Writer, preview leave.PreviewDocument) {
	if len(preview.Changes) == 0 {
		fmt.Fprintln(w, "no changes to revert: this host has not joined a cluster")
		return
	}
	fmt.Fprintf(w, "a leave would revert %d changes\n\n", len(preview.Changes))
	signs := map[leave.Action]string{leave.Remove: "-", leave.Restore: "~"}
	for _, change := range preview.Changes {
		fmt.Fprintf(w, "  %s %s %s\n", signs[change.Action], change.Kind, report.EscapeLine(change.Target))
	}
	var drift []string
	for _, one := range preview.Drift {
		drift = append(drift, fmt.Sprintf("%s %s", one.Kind, report.EscapeLine(one.Target)))
	}
	printList(w, "changed since the join (kept if others changed it)", drift)
	printList(w, "not reverted", preview.NotRestored)
	if preview.Next != "" {
		printList(w, "to delete the Node afterwards, on the cluster", []string{preview.Next})
	}
	fmt.Fprintf(w, "\na leave would revert %d changes: - removed, ~ restored\n", len(preview.Changes))
}

func printLeave(w io.Writer, left leave.Document) {
	fmt.Fprintf(w, "\nrestored items: %d\n", left.Restored)
	if n := len(left.Removed); n > 0 {
		fmt.Fprintf(w, "removed items of kubelet, CRI-O and pods: %d\n", n)
	}
	if n := len(left.Kept); n > 0 {
		fmt.Fprintf(w, "kept items, changed or created by other processes: %d\n", n)
		for _, kept := range left.Kept {
			fmt.Fprintf(w, "  %s %s\n", kept.Kind, kept.Target)
		}
	}
	if left.NodeDeleted {
		fmt.Fprintln(w, "the Node is deleted")
	}
	if left.Next != "" {
		fmt.Fprintf(w, "the Node object still exists in the cluster; an administrator must delete it:\n  %s\n", left.Next)
	}
}

// printList prints the title and the lines, or nothing if there are no lines.
func printList(w io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
}
