// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newNodesCommand(p *cli.Printer) *cobra.Command {
	var cluster clusterFlags
	var listing fleet.Listing
	c := &cobra.Command{
		Use:         "nodes [NODE...]",
		SuggestFor:  []string{"list", "get", "status", "ls"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "List the enrolled nodes and their state",
		Long: `Nodes lists the NodeEnrollments of the hosted cluster, with the columns that
oc get nodeenrollments has. Each shows the state of a node:

    Pending     no host has used the join token
    Enrolled    a host has used the join token; its Node does not exist yet
    Joined      the Node exists, and was not Ready yet
    Ready       the Node is Ready
    Upgrading   the agent upgrades the node
    Degraded    the Node is Ready, and the agent has found a problem
    Drifted     the host differs from what the agent has applied
    Failed      the join token has expired, or the Node is not Ready
    Lost        kubelet reports nothing, or the Node was deleted

CERTIFICATE is the time at which the first certificate of the node expires,
REPORTED the age of the last report of its agent. With --output wide, TOKEN is
the time at which the join token expires.

With --watch, changed nodes are printed until the command is stopped. With
--wait, it waits until all selected nodes are in the phase; after --timeout, it
fails with exit code 1.

After the table it prints, on standard error, whether no controller runs, the
number of nodes in each phase and, if the optional permissions are granted, the
nodes that were removed as lost, and the Nodes that have no NodeEnrollment.` + describePermissions(nodesPermissions()),
		Example: "  hcp-node-admin nodes --output wide\n" +
			"  hcp-node-admin nodes --phase Failed,Lost\n" +
			"  hcp-node-admin nodes --nodepool workers --wait Ready --timeout 30m",
	}
	flags := c.Flags()
	cluster.add(c, p)
	format := p.BindOutput(c, "output `FORMAT`: text; wide, with more columns; json or yaml, the objects; or name",
		"text", "wide", "json", "yaml", "name")
	flags.StringVarP(&listing.Labels, "selector", "l", "", "label `SELECTOR` of the NodeEnrollments")
	flags.StringSliceVar(&listing.Phases, "phase", nil, "only nodes in this `PHASE`; can be repeated")
	flags.StringVar(&listing.NodePool, "nodepool", "", "only nodes of the NodePool `NAME`")
	flags.BoolVarP(&listing.Watch, "watch", "w", false, "print changes until stopped")
	flags.StringVar(&listing.Awaited, "wait", "", "wait until all selected nodes are in this `PHASE`, such as Ready")
	flags.DurationVar(&listing.Timeout, "timeout", 30*time.Minute, "timeout of --wait, as a `DURATION`")
	cli.CompleteFlag(c, "wait", cli.CompleteValue(fleet.Phases()))
	cli.CompleteFlag(c, "phase", cli.CompleteList(fleet.Phases()))
	cli.CompleteFlag(c, "nodepool", cluster.completeFleet(fleet.Client.NodePools))
	c.ValidArgsFunction = cluster.completeFleet(fleet.Client.NodeNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		listing.Names, listing.Format = args, *format
		if err := listing.Check(); err != nil {
			return err
		}
		client, err := cluster.connectFleet(c.Context())
		if err != nil {
			return err
		}
		return printNodes(c.Context(), p, &listing, client)
	}
	return c
}

func nodesPermissions() []permission {
	return []permission{
		{verbs: "list", resource: enrollmentResource},
		{verbs: "list", resource: "nodes", purpose: "optional"},
		listPermission("get", "optional"),
		leasePermission(),
	}
}

// printNodes prints nodes, and below a table the notes about them.
func printNodes(ctx context.Context, p *cli.Printer, listing *fleet.Listing, client fleet.Client) error {
	print := listing.Printer(p.Out)
	if listing.Watch {
		log := report.Log{Sink: &report.Lines{W: p.Err}, Step: "nodes"}
		return interrupted(ctx, client.Watch(ctx, log, listing.Selection, fleet.PollInterval, print))
	}
	nodes, err := listing.Nodes(ctx, client, report.Log{Sink: p.Sink, Step: "nodes"})
	isEmpty := nodes == nil || len(nodes.Objects) == 0
	if nodes == nil || err != nil && (listing.IsForPrograms() || isEmpty) {
		return err
	}
	if !isEmpty || listing.IsForPrograms() {
		if err := print(nodes); err != nil {
			return err
		}
	}
	if page, isPage := p.Err.(*report.Page); isPage && !listing.IsForPrograms() {
		listing.PrintNotes(ctx, page, client, nodes)
	}
	return err
}

// interrupted returns the error of a command that runs until it is stopped, which is no failure.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return report.Fail(report.Interrupted, "", "interrupted")
	}
	return err
}
