// SPDX-License-Identifier: Apache-2.0

// Package connect connects to the clusters that the flags of a command select, and returns remedies whose commands
// connect to the same clusters.
package connect

import (
	"cmp"
	"context"
	"io"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// Clusters selects the clusters of a command as oc does. With a namespace or a HostedCluster, the kubeconfig is that of
// the management cluster.
type Clusters struct {
	Kubeconfig, Context, Namespace, HostedCluster string

	HostedKubeconfig string    // replaces that of the HostedCluster, in commands for both clusters
	IsManagement     bool      // the kubeconfig is that of the management cluster
	Stdin            io.Reader // the content of the kubeconfig with the name -
	CommandLine      string    // of this run

	isHosted bool // oc in remedies is for the hosted cluster although IsManagement
}

// IsSet reports whether one of the flags is set that select a cluster.
func (c *Clusters) IsSet() bool {
	return cmp.Or(c.Kubeconfig, c.Context, c.Namespace, c.HostedCluster) != ""
}

// Select returns the selected context of the kubeconfig.
func (c *Clusters) Select() (*cluster.Selected, error) {
	return cluster.Select(c.Kubeconfig, c.Context, c.Stdin)
}

// Management prepares the connection to the management cluster, and sets the default of the namespace.
func (c *Clusters) Management() (*cluster.Cluster, error) {
	c.IsManagement = true
	selected, err := c.Select()
	if err != nil {
		return nil, err
	}
	c.Namespace = cmp.Or(c.Namespace, selected.Namespace)
	return cluster.Open(cluster.Management, selected.Config)
}

// Hosted prepares the connection to the hosted cluster.
func (c *Clusters) Hosted(ctx context.Context) (*cluster.Cluster, error) {
	config, err := c.hostedConfig(ctx)
	if err != nil {
		return nil, err
	}
	hosted, err := cluster.Open(cluster.Hosted, config)
	if err == nil && !c.IsManagement {
		hosted.Command = c.CommandLine
	}
	return hosted, err
}

// hostedConfig returns the client configuration of the hosted cluster.
func (c *Clusters) hostedConfig(ctx context.Context) (*rest.Config, error) {
	if c.Namespace == "" && c.HostedCluster == "" {
		selected, err := c.Select()
		if err != nil {
			return nil, err
		}
		return selected.Config, nil
	}
	management, found, err := c.FindHostedCluster(ctx)
	if err != nil {
		return nil, err
	}
	_, config, err := c.ConfigOf(ctx, management, found)
	c.isHosted = err == nil
	return config, err
}

// FindHostedCluster returns the connection to the management cluster, and the selected HostedCluster.
func (c *Clusters) FindHostedCluster(ctx context.Context) (*cluster.Cluster, *nodepool.HostedCluster, error) {
	management, err := c.Management()
	if err != nil {
		return nil, nil, err
	}
	found, err := nodepool.FindHostedCluster(ctx, management, c.Namespace, c.HostedCluster)
	if err == nil {
		c.HostedCluster = found.Name
	}
	return management, found, err
}

// ConfigOf returns the kubeconfig of HostedKubeconfig, else that of a HostedCluster, and its client configuration.
func (c *Clusters) ConfigOf(
	ctx context.Context, management client.Reader, of *nodepool.HostedCluster,
) (kubeconfig []byte, config *rest.Config, err error) {
	if c.HostedKubeconfig != "" {
		selected, err := cluster.Select(c.HostedKubeconfig, "", c.Stdin)
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
