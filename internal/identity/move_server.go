// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// MoveServer replaces the URL of the API server in kubelet's kubeconfig. kubelet reads it when it starts. The API
// server at the new URL must be that of the same cluster, which the caller checks with CheckMove. If it does not accept
// the node afterwards, MoveServer fails, and the kubeconfig has its former content. The returned function restores that
// content.
func (i *Identity) MoveServer(ctx context.Context, server string) (restore func(context.Context) error, err error) {
	cluster, err := loadCluster(i.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cluster.Server = server
	return i.replaceStored(ctx, cluster, i.CheckStored)
}

// CheckMove returns an error unless the API server at another URL is that of the same cluster: it has a certificate of
// a CA in kubelet's kubeconfig, accepts the certificate of the node, and has the same Node, with its UID, as the API
// server in the kubeconfig.
func (i *Identity) CheckMove(ctx context.Context, server string) error {
	present, err := i.findNode(ctx, kube.Cluster{})
	if err != nil {
		return err
	}
	next, err := i.findNode(ctx, kube.Cluster{Server: server})
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w", server, err)
	}
	if present == nil || next == nil || present.UID != next.UID {
		return report.Fail(report.Refused, "", "%s is the API server of another cluster: it does not have the Node %s of "+
			"this host", server, i.NodeName)
	}
	return nil
}

// CheckServer returns an error unless the API server at a URL accepts the certificate in kubelet's kubeconfig.
func (i *Identity) CheckServer(ctx context.Context, server string) error {
	return i.checkAccepted(ctx, kube.Cluster{Server: server})
}

// LastRenewal returns when kubelet has renewed the lease of the Node, zero if that is unknown.
func (i *Identity) LastRenewal(ctx context.Context) time.Time {
	connection, err := i.connectStored(kube.Cluster{})
	if err != nil {
		return time.Time{}
	}
	return connection.LastRenewal(ctx, i.NodeName)
}
