// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/connect"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clusterFlags are the flags that select the clusters of a command.
type clusterFlags struct{ connect.Clusters }

// add adds the flags of a command for the hosted cluster.
func (c *clusterFlags) add(command *cobra.Command, p *cli.Printer) {
	c.addKubeconfig(command, p, "hosted cluster, with --namespace or --hosted-cluster of the management")
	c.addHostedCluster(command, "HostedCluster", "get the kubeconfig of the hosted cluster of the HostedCluster `NAME` "+
		"from the management cluster (default the only one of --namespace)")
}

// addManagement adds the flags of a command for the management cluster. kind is the kind of object in the namespace.
func (c *clusterFlags) addManagement(command *cobra.Command, p *cli.Printer, kind string) {
	c.IsManagement = true
	c.addHostedCluster(command, kind, "`NAME` of the HostedCluster (default that of the argument)")
	c.addKubeconfig(command, p, "management")
}

// addKubeconfig adds the flags for the kubeconfig of a cluster. Remedies that the command prints contain its flags.
func (c *clusterFlags) addKubeconfig(command *cobra.Command, p *cli.Printer, place string) {
	c.Stdin, c.CommandLine = p.In, p.Program.CommandLine
	command.Flags().StringVar(&c.Kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE` of the "+place+" cluster, or - for standard input (default $KUBECONFIG, else ~/.kube/config)")
	command.Flags().StringVar(&c.Context, "context", "",
		"`NAME` of the context of the kubeconfig (default the current context)")
	command.PreRun = func(*cobra.Command, []string) { p.Program.SelectCluster = c.Remedy }
}

func (c *clusterFlags) addHostedCluster(command *cobra.Command, kind, usage string) {
	command.Flags().StringVarP(&c.Namespace, "namespace", "n", "",
		"`NAMESPACE` of the "+kind+" on the management cluster (default that of the kubeconfig's context)")
	command.Flags().StringVar(&c.HostedCluster, "hosted-cluster", "", usage)
	cli.CompleteFlag(command, "hosted-cluster", c.complete(nodepool.HostedClusters))
}

// addHostedKubeconfig adds the flag that replaces the kubeconfig of the HostedCluster.
func (c *clusterFlags) addHostedKubeconfig(command *cobra.Command) {
	command.Flags().StringVar(&c.HostedKubeconfig, "hosted-kubeconfig", "",
		"administrator's kubeconfig `FILE` of the hosted cluster (default that in the status of the HostedCluster)")
}

// nameHostedCluster sets the HostedCluster to that of the arguments, if it is not that of --hosted-cluster. It fails if
// none is named although isRequired.
func (c *clusterFlags) nameHostedCluster(args []string, isRequired bool) error {
	name := cmp.Or(append(args, c.HostedCluster)...)
	switch {
	case len(args) > 1, name == "" && isRequired:
		return errors.New("the name of one HostedCluster is required")
	case c.HostedCluster != "" && name != c.HostedCluster:
		return report.UsageError("HOSTEDCLUSTER %s differs from --hosted-cluster %s", name, c.HostedCluster)
	}
	c.HostedCluster = name
	return nil
}

// connectFleet prepares the connection to the hosted cluster.
func (c *clusterFlags) connectFleet(ctx context.Context) (fleet.Client, error) {
	hosted, err := c.Hosted(ctx)
	return fleet.Client{Cluster: hosted}, err
}

// complete completes words with the names of a list of the management cluster.
func (c *clusterFlags) complete(
	list func(ctx context.Context, management client.Reader, namespace string) ([]string, error),
) cobra.CompletionFunc {
	return completeNames(func(ctx context.Context) ([]string, error) {
		management, err := c.Management()
		if err != nil {
			return nil, err
		}
		return list(ctx, management, c.Namespace)
	})
}

// completeFleet completes words with names of the hosted cluster.
func (c *clusterFlags) completeFleet(list func(fleet.Client, context.Context) ([]string, error)) cobra.CompletionFunc {
	return completeNames(func(ctx context.Context) ([]string, error) {
		connected, err := c.connectFleet(ctx)
		if err != nil {
			return nil, err
		}
		return list(connected, ctx)
	})
}
