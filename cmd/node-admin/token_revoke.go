// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type revokeDocument struct {
	report.TypeMeta
	Nodes []enroll.Revoked `json:"nodes" doc:"nodes whose join tokens were revoked"`
	report.CommandResult
}

func newTokenRevokeCommand(p *cli.Printer) *cobra.Command {
	var cluster clusterFlags
	c := &cobra.Command{
		Use:         "revoke NODE...",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Revoke the join tokens of nodes",
		Long: `Revoke deletes the NodeEnrollments of nodes in the hosted cluster, and the
ServiceAccounts with which their hosts get user data. A host can then not join
with its join token. The controller approves no further certificate of the node.

A node that has joined remains until its Node is deleted. Its client certificate
remains valid: the cluster cannot revoke it, and kube-controller-manager renews
it for the holder of its key, who can create the Node again.`,
		Example: "  hcp-node-admin token revoke worker-7.example.com",
		Args:    requireSome("the name of at least one node is required"),
	}
	cluster.add(c, p)
	c.ValidArgsFunction = cluster.completeFleet(fleet.Client.NodeNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		document := revokeDocument{TypeMeta: report.Meta("RevokeResult")}
		err := revoke(c.Context(), p, &cluster, args, &document)
		print := func(w *report.Page) { printRevoked(w, document, p.Program) }
		if err != nil && len(document.Nodes) == 0 {
			return err
		}
		document.CommandResult = report.ResultOf(err)
		return p.FinishPartly(err, document, print)
	}
	return c
}

func revoke(ctx context.Context, p *cli.Printer, flags *clusterFlags, nodes []string, document *revokeDocument) error {
	if err := checkNodeNames(nil, nodes); err != nil {
		return err
	}
	hosted, err := flags.Hosted(ctx)
	if err != nil {
		return err
	}
	cluster, err := enroll.Connect(ctx, hosted)
	if err != nil {
		return err
	}
	var missing []string
	for _, node := range nodes {
		revoked, err := cluster.Revoke(ctx, node)
		if err != nil {
			return err
		}
		document.Nodes = append(document.Nodes, revoked)
		if !revoked.WasDeleted {
			missing = append(missing, node)
		}
	}
	if len(missing) > 0 {
		return report.Fail(report.Usage, "hcp-node-admin nodes # lists all",
			"no NodeEnrollment exists for %s", strings.Join(missing, ", "))
	}
	return nil
}

func printRevoked(w *report.Page, document revokeDocument, program cli.Program) {
	for _, node := range document.Nodes {
		if node.WasDeleted {
			w.Item(node.NodeName+": ", "join token revoked; its file can be deleted")
		}
		if node.NodeExists {
			w.Item("  ", fmt.Sprintf("Node %s has joined and remains; to remove it, run hcp-node-agent leave on the host, then:",
				node.NodeName))
			w.Printf("%s\n", program.Remedy(report.Remedy("hcp-node-admin remove "+node.NodeName)))
		}
	}
}
