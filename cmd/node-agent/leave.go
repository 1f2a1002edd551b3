// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func newLeaveCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "leave",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Remove this host from the cluster and restore its former state",
		Long: `Leave drains the node, stops kubelet and its containers, and reverts every
change in the ledger, newest first. It removes what kubelet, CRI-O and pods
created, and keeps and lists what others changed since, or created in
directories that they share with the cluster. It also lists what it cannot
restore, such as /etc/hostname. With --purge it also removes
these files, the packages that join installed unless other packages require
them, and images that were pulled since the join.

With --leftovers, it removes the files of another cluster from a host that this
agent has not joined, or whose record is lost: certificates, kubeconfigs, static
pods, network configurations and databases of OVN. They are not restored.

Of a host that was joined with --adopt, it keeps and lists what may have existed
before.

If the cluster does not respond within 30 seconds, for example because it was
deleted, the leave continues without draining the node. Run it again to resume
after a stop.`,
		Example: "  hcp-node-agent leave --dry-run\n  hcp-node-agent leave --delete-node admin.kubeconfig",
		Args:    cli.NoArgs,
	}
	c.Flags().SortFlags = false
	var leftovers bool
	dryRun := c.Flags().Bool("dry-run", false, "only print what would be done, also with the other flags")
	yes := c.Flags().BoolP("yes", "y", false, "do not prompt for confirmation on a terminal")
	noDrain := c.Flags().Bool("no-drain", false, "do not drain the node")
	purge := c.Flags().Bool("purge", false,
		"also remove the packages that join installed, images that were pulled since the join, and files "+
			"that other processes may have created in the cluster's directories")
	restoreImage := c.Flags().Bool("restore-image", false,
		"also make the host boot the image that it ran before the agent booted that of the payload (RHCOS)")
	deleteNode := c.Flags().String("delete-node", "",
		"delete the Node from the cluster with this `KUBECONFIG` (- for standard input); it is not stored")
	c.Flags().BoolVar(&leftovers, "leftovers", false,
		"remove the files of another cluster from a host without a record of a join, and nothing else")
	for _, flag := range []string{"no-drain", "purge", "restore-image", "delete-node"} {
		c.MarkFlagsMutuallyExclusive("leftovers", flag)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if leftovers {
			return removeLeftovers(c.Context(), p, *dryRun, *yes)
		}
		var kubeconfig []byte
		if *deleteNode != "" {
			var err error
			if kubeconfig, err = request.ReadFile(*deleteNode, p.In, "--delete-node"); err != nil {
				return err
			}
		}
		options := leave.Options{
			Options: request.Options{StateDir: joinstate.Dir, Sink: p.Sink},
			Drain:   !*noDrain,
			Purge:   *purge, RestoreImage: *restoreImage,
			DeleteNode: kubeconfig,
			AutoJoin:   autojoin.Files{Dir: autojoin.DefaultDir},
		}
		if *dryRun {
			preview, err := leave.Preview(c.Context(), options)
			if err != nil {
				return err
			}
			return p.Document(preview, func(page *report.Page) { printLeavePreview(page, preview) })
		}
		if !*yes && !p.Confirm("Remove this host from the cluster and revert all changes of the join?") {
			return report.Fail(report.Interrupted, "hcp-node-agent leave --dry-run # lists the changes",
				"not confirmed; nothing was changed")
		}
		left, err := leave.Run(c.Context(), options)
		if err != nil && len(p.Recorder.Steps) == 0 {
			return err
		}
		left.CommandResult = report.ResultOf(err)
		return p.Finish(err, left, func(page *report.Page) { printLeave(page, left) })
	}
	return c
}

// removeLeftovers removes the files of another cluster, or only prints them.
func removeLeftovers(ctx context.Context, p *cli.Printer, dryRun, yes bool) error {
	options := leave.Options{Options: request.Options{StateDir: joinstate.Dir, Sink: p.Sink}}
	preview, err := leave.PreviewLeftovers(ctx, options)
	if err != nil {
		return err
	}
	if dryRun {
		return p.Document(preview, func(page *report.Page) { printLeftovers(page, preview) })
	}
	question := fmt.Sprintf("Remove files and directories of another cluster, which are not restored: %d?",
		len(preview.Leftovers))
	if len(preview.Leftovers) > 0 && !yes && !p.Confirm(question) {
		return report.Fail(report.Interrupted, "hcp-node-agent leave --leftovers --dry-run # lists the files",
			"not confirmed; nothing was changed")
	}
	left, err := leave.RemoveLeftovers(ctx, options)
	if err != nil && len(left.Removed) == 0 {
		return err
	}
	left.CommandResult = report.ResultOf(err)
	return p.Finish(err, left, func(page *report.Page) {
		page.Printf("removed files and directories of another cluster: %d\n", len(left.Removed))
	})
}

func printLeftovers(page *report.Page, preview leave.PreviewDocument) {
	if len(preview.Leftovers) == 0 {
		page.Printf("no files of another cluster\n")
		return
	}
	page.Printf("%s\n", page.Title(fmt.Sprintf("files and directories of another cluster: %d", len(preview.Leftovers))))
	for _, one := range preview.Leftovers {
		page.Item("  "+page.Bad("-")+" ", fmt.Sprintf("%s (%s)", report.EscapeLine(one.Path), one.What))
	}
}

func printLeavePreview(page *report.Page, preview leave.PreviewDocument) {
	if len(preview.Changes) == 0 {
		page.Printf("no changes to revert: this host has not joined a cluster\n")
		return
	}
	summary := fmt.Sprintf("a leave would revert %d changes", len(preview.Changes))
	page.Printf("%s\n\n", page.Title(summary))
	for i, step := range preview.Steps {
		page.Item(fmt.Sprintf("  %d. ", i+1), step)
	}
	page.Printf("\n%s\n", page.Title("changes"))
	for _, change := range preview.Changes {
		sign := page.Warn("~")
		if change.Action == leave.Remove {
			sign = page.Bad("-")
		}
		page.Item("  "+sign+" ", fmt.Sprintf("%s %s", change.Kind, report.EscapeLine(change.Target)))
	}
	var drift []string
	for _, one := range preview.Drift {
		drift = append(drift, fmt.Sprintf("%s %s", one.Kind, report.EscapeLine(one.Target)))
	}
	printItems(page, "changed since the join (kept if others changed it)", drift)
	var created []string
	for _, one := range preview.Created {
		created = append(created, fmt.Sprintf("%s (%s): %d", report.EscapeLine(one.Directory), one.Action, one.Count))
		for _, path := range one.Paths {
			created = append(created, "  "+report.EscapeLine(path))
		}
	}
	printItems(page, "created since the join", created)
	var leftovers []string
	for _, one := range preview.Leftovers {
		leftovers = append(leftovers, fmt.Sprintf("%s (%s)", report.EscapeLine(one.Path), one.What))
	}
	printItems(page, "other files of the cluster to remove", leftovers)
	printItems(page, "kept, because the agent did not join this host", keptLines(preview.Kept))
	printItems(page, "images to remove", preview.Images)
	printItems(page, "packages to remove", preview.Packages)
	printItems(page, "not reverted", preview.NotRestored)
	if preview.Next != "" {
		page.Printf("\nto delete the Node afterwards, on the cluster:\n\n%s\n", preview.Next)
	}
	page.Printf("\n%s: - removed, ~ restored\n", summary)
}

// isUnrecorded reports whether an object is one of a host that the agent did not join.
func isUnrecorded(k leave.KeptItem) bool { return k.Step == "" && k.Reason != "" }

// keptLines returns a line for each kept object, with the reason and the remedy of those of an adopted host.
func keptLines(kept []leave.KeptItem) []string {
	return lists.Map(kept, func(k leave.KeptItem) string {
		line := fmt.Sprintf("%s %s", k.Kind, report.EscapeLine(k.Target))
		if isUnrecorded(k) {
			line += ": " + k.Reason
		}
		if k.Remedy != "" {
			line += " (" + strings.TrimPrefix(string(k.Remedy), "# ") + ")"
		}
		return line
	})
}

// printItems prints a title and items, or nothing if there are no items.
func printItems(page *report.Page, title string, items []string) {
	if len(items) > 0 {
		page.Printf("\n%s\n", page.Title(title))
	}
	for _, item := range items {
		page.Item("  ", item)
	}
}

func printLeave(page *report.Page, left leave.Document) {
	page.Printf("\nrestored items: %d\n", left.Restored)
	if n := len(left.Removed); n > 0 {
		page.Printf("removed items of kubelet, CRI-O and pods: %d\n", n)
	}
	if n := len(left.RemovedImages); n > 0 {
		page.Printf("removed images: %d\n", n)
	}
	if n := len(left.RemovedPackages); n > 0 {
		page.Item("removed packages: ", strings.Join(left.RemovedPackages, " "))
	}
	if n := len(left.Kept); n > 0 {
		title := "kept items, changed or created by other processes"
		if slices.ContainsFunc(left.Kept, isUnrecorded) {
			title = "kept items"
		}
		page.Printf("%s: %d\n", title, n)
		for _, line := range keptLines(left.Kept) {
			page.Item("  ", line)
		}
	}
	if left.NodeDeleted {
		page.Printf("the Node is deleted\n")
	}
	if left.Next != "" {
		page.Printf("the Node object still exists in the cluster; an administrator must delete it:\n\n%s\n", left.Next)
	}
}
