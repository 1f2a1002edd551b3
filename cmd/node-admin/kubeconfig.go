// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newKubeconfigCommand(p *cli.Printer) *cobra.Command {
	var cluster clusterFlags
	c := &cobra.Command{
		Use:         "kubeconfig [HOSTEDCLUSTER]",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Print the administrator's kubeconfig of a hosted cluster",
		Long: `Kubeconfig connects to the management cluster, and prints the administrator's
kubeconfig of a hosted cluster, a secret, for oc and other programs. Commands of
hcp-node-admin need no such file: they have the flags --namespace and
--hosted-cluster. Without HOSTEDCLUSTER, the namespace must have exactly one.

Required permissions on the management cluster, in the namespace of the
HostedCluster: get hostedclusters of hypershift.openshift.io and secrets;
without HOSTEDCLUSTER, also list hostedclusters.`,
		Example: "  hcp-node-admin kubeconfig -n clusters hosted >hosted.kubeconfig",
		Args:    func(_ *cobra.Command, args []string) error { return cluster.nameHostedCluster(args, false) },
	}
	cluster.addManagement(c, p, "HostedCluster")
	c.ValidArgsFunction = completeOne(cluster.complete(nodepool.HostedClusters))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if p.JSON {
			return report.UsageError("--output json is not supported: a kubeconfig is YAML")
		}
		management, found, err := cluster.FindHostedCluster(c.Context())
		if err != nil {
			return err
		}
		kubeconfig, err := found.GetKubeconfig(c.Context(), management)
		if err != nil {
			return err
		}
		_, err = p.Out.Write(kubeconfig)
		return err
	}
	return c
}
