// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clusterFlags select a cluster as oc does. With a namespace or a HostedCluster, the kubeconfig is that of the
// management cluster.
type clusterFlags struct {
	kubeconfig, context, namespace, hostedCluster string

	hostedKubeconfig string // replaces that of the HostedCluster, in commands for both clusters
	isManagement     bool   // the kubeconfig is that of the management cluster
	isHosted         bool   // oc in remedies is for the hosted cluster although isManagement
}

// add adds the flags of a command for the hosted cluster.
func (c *clusterFlags) add(command *cobra.Command, p *cli.Printer) {
	c.addKubeconfig(command, p, "hosted cluster, with --namespace or --hosted-cluster of the management")
	c.addHostedCluster(command, "HostedCluster", "get the kubeconfig of the hosted cluster of the HostedCluster `NAME` "+
		"from the management cluster (default the only one of --namespace)")
}

// addManagement adds the flags of a command for the management cluster. kind is the kind of object in the namespace.
func (c *clusterFlags) addManagement(command *cobra.Command, p *cli.Printer, kind string) {
	c.isManagement = true
	c.addHostedCluster(command, kind, "`NAME` of the HostedCluster (default that of the argument)")
	c.addKubeconfig(command, p, "management")
}

// addKubeconfig adds the flags for the kubeconfig of a cluster. Remedies that the command prints contain its flags.
func (c *clusterFlags) addKubeconfig(command *cobra.Command, p *cli.Printer, place string) {
	command.Flags().StringVar(&c.kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE` of the "+place+" cluster, or - for standard input (default $KUBECONFIG, else ~/.kube/config)")
	command.Flags().StringVar(&c.context, "context", "",
		"`NAME` of the context of the kubeconfig (default the current context)")
	command.PreRun = func(*cobra.Command, []string) { p.Program.SelectCluster = c.selectClusters }
}

func (c *clusterFlags) addHostedCluster(command *cobra.Command, kind, usage string) {
	command.Flags().StringVarP(&c.namespace, "namespace", "n", "",
		"`NAMESPACE` of the "+kind+" on the management cluster (default that of the kubeconfig's context)")
	command.Flags().StringVar(&c.hostedCluster, "hosted-cluster", "", usage)
	cli.CompleteFlag(command, "hosted-cluster", c.complete(nodepool.HostedClusters))
}

// addHostedKubeconfig adds the flag that replaces the kubeconfig of the HostedCluster.
func (c *clusterFlags) addHostedKubeconfig(command *cobra.Command) {
	command.Flags().StringVar(&c.hostedKubeconfig, "hosted-kubeconfig", "",
		"administrator's kubeconfig `FILE` of the hosted cluster (default that in the status of the HostedCluster)")
}

// isSet reports whether one of the flags is set.
func (c *clusterFlags) isSet() bool {
	return cmp.Or(c.kubeconfig, c.context, c.namespace, c.hostedCluster) != ""
}

// nameHostedCluster sets the HostedCluster to that of the arguments, if it is not that of --hosted-cluster. It fails if
// none is named although isRequired.
func (c *clusterFlags) nameHostedCluster(args []string, isRequired bool) error {
	name := cmp.Or(append(args, c.hostedCluster)...)
	switch {
	case len(args) > 1, name == "" && isRequired:
		return errors.New("the name of one HostedCluster is required")
	case c.hostedCluster != "" && name != c.hostedCluster:
		return report.UsageError("HOSTEDCLUSTER %s differs from --hosted-cluster %s", name, c.hostedCluster)
	}
	c.hostedCluster = name
	return nil
}

// read returns the selected context of the kubeconfig.
func (c *clusterFlags) read(stdin io.Reader) (*cluster.Selected, error) {
	return cluster.Select(c.kubeconfig, c.context, stdin)
}

// connectManagement prepares the connection to the management cluster, and sets the default of the namespace.
func (c *clusterFlags) connectManagement(stdin io.Reader) (*cluster.Cluster, error) {
	c.isManagement = true
	selected, err := c.read(stdin)
	if err != nil {
		return nil, err
	}
	c.namespace = cmp.Or(c.namespace, selected.Namespace)
	return cluster.Open(cluster.Management, selected.Config)
}

// connectHosted prepares the connection to the hosted cluster.
func (c *clusterFlags) connectHosted(ctx context.Context, p *cli.Printer) (*cluster.Cluster, error) {
	config, err := c.hostedConfig(ctx, p.In)
	if err != nil {
		return nil, err
	}
	hosted, err := cluster.Open(cluster.Hosted, config)
	if err == nil && !c.isManagement {
		hosted.Command = p.Program.CommandLine
	}
	return hosted, err
}

// hostedConfig returns the client configuration of the hosted cluster.
func (c *clusterFlags) hostedConfig(ctx context.Context, stdin io.Reader) (*rest.Config, error) {
	if c.namespace == "" && c.hostedCluster == "" {
		selected, err := c.read(stdin)
		if err != nil {
			return nil, err
		}
		return selected.Config, nil
	}
	management, found, err := c.findHostedCluster(ctx, stdin)
	if err != nil {
		return nil, err
	}
	_, config, err := c.configOf(ctx, stdin, management, found)
	c.isHosted = err == nil
	return config, err
}

// findHostedCluster returns the connection to the management cluster, and the selected HostedCluster.
func (c *clusterFlags) findHostedCluster(
	ctx context.Context, stdin io.Reader,
) (*cluster.Cluster, *nodepool.HostedCluster, error) {
	management, err := c.connectManagement(stdin)
	if err != nil {
		return nil, nil, err
	}
	found, err := nodepool.FindHostedCluster(ctx, management, c.namespace, c.hostedCluster)
	if err == nil {
		c.hostedCluster = found.Name
	}
	return management, found, err
}

// configOf returns the kubeconfig of --hosted-kubeconfig, else that of a HostedCluster, and its client configuration.
func (c *clusterFlags) configOf(
	ctx context.Context, stdin io.Reader, management client.Reader, of *nodepool.HostedCluster,
) (kubeconfig []byte, config *rest.Config, err error) {
	if c.hostedKubeconfig != "" {
		selected, err := cluster.Select(c.hostedKubeconfig, "", stdin)
		if err != nil {
			return nil, nil, err
		}
		return selected.Kubeconfig, selected.Config, nil
	}
	if kubeconfig, err = of.GetKubeconfig(ctx, management); err == nil {
		config, err = kube.ParseKubeconfig(kubeconfig) // of a Secret: it must not run a command here
	}
	return kubeconfig, config, err
}

// complete completes words with the names of a list of the management cluster.
func (c *clusterFlags) complete(
	list func(ctx context.Context, management client.Reader, namespace string) ([]string, error),
) cobra.CompletionFunc {
	return completeNames(func(ctx context.Context, stdin io.Reader) ([]string, error) {
		management, err := c.connectManagement(stdin)
		if err != nil {
			return nil, err
		}
		return list(ctx, management, c.namespace)
	})
}
