// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"os"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// IsServiceAccount reports whether the service account of the pod is the credential of a controller for the hosted
// cluster.
func (c *Clusters) IsServiceAccount() bool { return !c.IsSet() && os.Getenv("KUBECONFIG") == "" }

// Controller returns the configuration of a controller for the hosted cluster, that of the pod or of the kubeconfig,
// and the hashes of the cluster's CAs.
func (c *Clusters) Controller() (*rest.Config, []enrollment.Hash, error) {
	if c.IsServiceAccount() {
		config, err := rest.InClusterConfig()
		if err == nil {
			err = rest.LoadTLSFiles(config)
		}
		if err == nil {
			hashes, err := enrollment.CAHashes(config.CAData)
			return config, hashes, err
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, nil, report.UsageError("reading the service account of the pod: %w", err)
		}
	}
	selected, err := c.Select()
	if err != nil {
		return nil, nil, err
	}
	return cluster.ParseKubeconfig(selected.Kubeconfig)
}

// CheckController checks that the cluster of a controller's configuration is a hosted cluster, unless allowManagement,
// and that it has the API of the controllers.
func CheckController(ctx context.Context, config *rest.Config, allowManagement bool) error {
	hosted, err := cluster.Open(cluster.Hosted, config)
	if err == nil {
		err = hosted.CheckApproval(ctx, allowManagement)
	}
	if err != nil {
		return err
	}
	return hosted.CheckEnrollmentAPI(ctx)
}
