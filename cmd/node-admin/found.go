// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// foundNode is a node that is no longer lost.
type foundNode struct {
	Node    string `json:"node" doc:"name of the node"`
	WasLost bool   `json:"wasLost" doc:"whether the node was in the list of lost nodes"`
}

type foundDocument struct {
	report.TypeMeta
	Nodes []foundNode `json:"nodes" doc:"nodes that are not in the list of lost nodes"`
	report.CommandResult
}

func newFoundCommand(p *cli.Printer) *cobra.Command {
	var cluster clusterFlags
	c := &cobra.Command{
		Use:         "found NODE...",
		SuggestFor:  []string{"readmit", "restore"},
		Annotations: cli.ExitsWith(report.CredentialRefused),
		Short:       "Let hosts that were removed as lost join again",
		Long: `Found removes nodes from the list of those that remove --lost has excluded: the
ConfigMap lost-nodes in namespace hcp-node-admin of the hosted cluster. The host
can then be enrolled again. The controller removes the taint from a Node of that
name. Nodes that are not in the list are skipped, so that the command can be
repeated.

The former certificates of the host become usable again until they expire, also
for a thief who has copied them: a kubelet that has them renews them and creates
its Node. For another host of the same name, wait until they have expired, or
choose another name.` + describePermissions(foundPermissions()),
		Example: "  hcp-node-admin found worker-7.example.com",
		Args:    cobra.MatchAll(requireSome("the name of a node is required"), checkNodeNames),
	}
	cluster.add(c, p)
	c.ValidArgsFunction = cluster.completeFleet(fleet.Client.LostNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		client, err := cluster.connectFleet(c.Context())
		if err != nil {
			return err
		}
		return findNodes(c.Context(), p, client, lists.AppendMissing(nil, args...))
	}
	return c
}

func foundPermissions() []permission { return []permission{listPermission("get,update", "")} }

// findNodes removes nodes from the list of lost nodes.
func findNodes(ctx context.Context, p *cli.Printer, client fleet.Client, names []string) error {
	removed, err := lostnodes.Remove(ctx, client, names)
	if err != nil {
		return err
	}
	document := foundDocument{TypeMeta: report.Meta("FoundResult"), CommandResult: report.ResultOf(nil)}
	for _, name := range names {
		document.Nodes = append(document.Nodes, foundNode{Node: name, WasLost: slices.Contains(removed, name)})
	}
	return p.Finish(nil, document, func(w *report.Page) {
		for _, one := range document.Nodes {
			if one.WasLost {
				w.Item("", one.Node+" is no longer lost: its former certificates are usable until they expire")
			} else {
				w.Item("", one.Node+" was not lost")
			}
		}
	})
}
