// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// removeOptions are the flags of remove.
type removeOptions struct {
	cluster clusterFlags
	force   bool
}

type removeDocument struct {
	report.TypeMeta
	Nodes []fleet.Removal `json:"nodes" doc:"what was deleted of each node"`
	report.CommandResult
}

func newRemoveCommand(p *cli.Printer) *cobra.Command {
	var o removeOptions
	c := &cobra.Command{
		Use:         "remove NODE...",
		SuggestFor:  []string{"delete", "rm"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Remove nodes from the cluster",
		Long: `Remove deletes the NodeEnrollment of a node, so that its join token is no longer
valid, the ServiceAccount of its host, and its Node. It does not prompt for
confirmation. Objects that do not exist are skipped, so that the command can be
repeated.

A Node that is Ready may run pods, and is only removed with --force. Drain it,
run hcp-node-agent leave on the host, which restores the host and ends kubelet,
and then remove the node. If only one of several Nodes is Ready, nothing is
deleted.

Remove does not revoke the certificates of the host: the cluster cannot. Until
hcp-node-agent leave has deleted them, a kubelet that is started again renews
them and creates its Node again, without the labels and taints of its
enrollment. A thief of the key of a lost host can do the same.` + describePermissions(removePermissions()),
		Example: "  hcp-node-admin remove worker-7.example.com worker-8.example.com",
		Args:    cobra.MatchAll(requireSome("the name of a node is required"), checkNodeNames),
	}
	o.cluster.add(c, p)
	c.Flags().BoolVar(&o.force, "force", false, "also remove a Node that is Ready; its pods are deleted")
	c.ValidArgsFunction = o.cluster.completeFleet(fleet.Client.NodeNames)
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c.Context(), p, args) }
	return c
}

func removePermissions() []permission {
	return []permission{
		{verbs: "get,delete", resource: enrollmentResource},
		{verbs: "get,delete", resource: "nodes"},
		{verbs: "get,delete", resource: "serviceaccounts", namespace: v1alpha1.Namespace},
	}
}

func (o *removeOptions) run(ctx context.Context, p *cli.Printer, names []string) error {
	client, err := o.cluster.connectFleet(ctx)
	if err != nil {
		return err
	}
	isAny := false
	removals, err := client.Remove(ctx, names, o.force, func(kind, node string) {
		isAny = true
		if !p.JSON {
			fmt.Fprintf(p.Out, "%s of %s deleted\n", kind, node)
		}
	})
	if removals == nil && err != nil {
		return err
	}
	document := removeDocument{
		TypeMeta: report.Meta("RemoveResult"), Nodes: removals, CommandResult: report.ResultOf(err),
	}
	return p.Finish(err, document, func(w *report.Page) {
		for _, removal := range removals {
			if len(removal.Deleted) == 0 {
				w.Printf("nothing exists of %s\n", removal.Node)
			}
		}
		if isAny {
			w.Printf("\n# on each host, unless it was done before:\nhcp-node-agent leave\n")
		}
	})
}
