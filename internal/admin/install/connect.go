// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/connect"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
)

// Connect connects to both clusters. It fails if the HostedCluster does not exist.
func (i *Installer) Connect(ctx context.Context, clusters *connect.Clusters) (err error) {
	if i.Management, err = clusters.Management(); err != nil {
		return err
	}
	i.HostedCluster = types.NamespacedName{Namespace: clusters.Namespace, Name: clusters.HostedCluster}
	found, err := nodepool.GetHostedCluster(ctx, i.Management, clusters.Namespace, clusters.HostedCluster)
	if err == nil {
		err = found.CheckPlatform()
	}
	if err != nil {
		return err
	}
	kubeconfig, config, err := clusters.ConfigOf(ctx, i.Management, found)
	if err != nil {
		return err
	}
	i.HostedKubeconfig = kubeconfig
	i.Hosted, err = cluster.Open(cluster.Hosted, config)
	return err
}

// ConnectToUninstall is Connect for Uninstall: the HostedCluster can be deleted if its controller still exists.
func (i *Installer) ConnectToUninstall(ctx context.Context, clusters *connect.Clusters) error {
	err := i.Connect(ctx, clusters)
	if errors.Is(err, nodepool.ErrNotFound) {
		if owner, _ := i.owner(ctx); owner == i.HostedCluster.String() {
			i.Log.Note(err.Error() + ": removing its controller from the management cluster")
			return nil
		}
	}
	return err
}
