// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
)

// newRootCommand returns the root command with all subcommands. Their output goes through p.
func newRootCommand(p *cli.Printer) *cobra.Command {
	const otherGroup = "other"
	root := cli.NewRootCommand(p, "Enroll nodes in a Hosted Control Plane cluster",
		`hcp-node-admin runs where an OpenShift Hosted Control Plane (HyperShift)
cluster is administered, not on its nodes. It gets the user data of NodePools,
enrolls hosts, which hcp-node-agent then joins, approves their CSRs, shows their
state, and lets them be upgraded. Installed as kubectl-hcp_node it is also a
plugin of oc and kubectl: oc hcp-node COMMAND.`,
		"  hcp-node-admin user-data workers --namespace clusters\n"+
			"  hcp-node-admin enroll -n clusters workers \\\n"+
			"      worker-7.example.com=192.0.2.7")
	controller := cli.NewParentCommand("controller", "Install and run the controller of NodeEnrollments",
		newControllerInstallCommand(p), newControllerStatusCommand(p), newControllerUninstallCommand(p),
		newControllerRunCommand(p))
	controller.SuggestFor = []string{"install", "uninstall", "status"}
	cli.AddGroup(root, "cluster", "Cluster commands:", newUserDataCommand(p),
		cli.NewParentCommand("site", "Manage the settings that all hosts of a site need", newSiteApplyCommand(p)),
		newEnrollCommand(p),
		cli.NewParentCommand("token", "Print and revoke join tokens", newTokenShowCommand(p), newTokenRevokeCommand(p)),
		newNodesCommand(p), newDescribeCommand(p), newUpgradeCommand(p),
		newApproveCommand(p), newRemoveCommand(p), newFoundCommand(p), newKubeconfigCommand(p),
		controller)
	cli.AddGroup(root, otherGroup, "Other commands:", cli.NewVersionCommand(p), cli.NewDocsCommand(p, docs))
	for _, c := range cli.AvailableCommands(root)[1:] {
		c.Flags().SortFlags = false // keeps the order of use in the help
	}
	cli.CompleteRoot(root, p, otherGroup, nil)
	return root
}
