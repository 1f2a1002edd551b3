// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

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
it for the holder of its key, who can create the Node again. For a stolen host,
use hcp-node-admin remove --lost.`,
		Example: "  hcp-node-admin token revoke worker-7.example.com",
		Args:    requireSome("the name of at least one node is required"),
	}
	cluster.add(c, p)
	c.ValidArgsFunction = cluster.completeFleet(fleet.Client.NodeNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkNodeNames(c, args); err != nil {
			return err
		}
		hosted, err := enroll.Open(c.Context(), &cluster.Clusters)
		if err != nil {
			return err
		}
		revoked, err := hosted.RevokeAll(c.Context(), args)
		if err != nil && len(revoked) == 0 {
			return err
		}
		document := revokeDocument{report.Meta("RevokeResult"), revoked, report.ResultOf(err)}
		return p.FinishPartly(err, document, func(w *report.Page) { printRevoked(w, revoked, p.Program) })
	}
	return c
}

func printRevoked(w *report.Page, nodes []enroll.Revoked, program cli.Program) {
	for _, node := range nodes {
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
