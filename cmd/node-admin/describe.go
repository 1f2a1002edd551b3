// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type descriptionDocument struct {
	report.TypeMeta
	fleet.Description
	report.CommandResult
}

func newDescribeCommand(p *cli.Printer) *cobra.Command {
	var cluster clusterFlags
	c := &cobra.Command{
		Use:         "describe NODE",
		SuggestFor:  []string{"show", "get", "status"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Print the state, CSRs and Events of a node",
		Long: `Describe prints the diagnosis of a node, its NodeEnrollment, its Node, what its
agent reports, its CSRs and its Events, and then what the node waits for, with
the next commands.

A node writes the annotations and the status of its Node itself, and any user of
a bootstrap kubeconfig can submit CSRs with its name: these texts prove nothing.
They are printed without control characters, and not completely if they are
long.` + describePermissions(describeNodePermissions()),
		Example: "  hcp-node-admin describe worker-7.example.com",
		Args:    cobra.MatchAll(requireOne("the name of one node is required"), checkNodeNames),
	}
	cluster.add(c, p)
	c.ValidArgsFunction = completeOne(cluster.completeFleet(fleet.Client.NodeNames))
	c.RunE = func(c *cobra.Command, args []string) error { return describe(c.Context(), p, &cluster, args[0]) }
	return c
}

func describeNodePermissions() []permission {
	return []permission{
		{verbs: "get", resource: enrollmentResource},
		{verbs: "get", resource: "nodes", purpose: "optional"},
		{verbs: "list", resource: "certificatesigningrequests.certificates.k8s.io", purpose: "optional"},
		{verbs: "list", resource: "events", namespace: "default", purpose: "optional"},
		{verbs: "get", resource: "noderollouts.hcp-node-agent.io", purpose: "optional"},
		leasePermission(),
	}
}

func describe(ctx context.Context, p *cli.Printer, cluster *clusterFlags, name string) error {
	client, err := cluster.connectFleet(ctx)
	if err != nil {
		return err
	}
	description, err := client.Describe(ctx, name)
	if err != nil {
		return err
	}
	document := descriptionDocument{TypeMeta: report.Meta("NodeDescription"), Description: *description}
	return p.Document(document, func(w *report.Page) { description.Print(w, time.Now()) })
}
