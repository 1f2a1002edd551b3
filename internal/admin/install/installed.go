// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
)

// installed returns the settings with which the controller is installed. In is "" if it is not.
func (i *Installer) installed(ctx context.Context) (Settings, error) {
	deployment, in, err := i.deployment(ctx)
	if err != nil || deployment == nil {
		return Settings{}, err
	}
	hasMonitor, err := isMonitored(ctx, in, i.namespaceIn(in.Place))
	container := deployment.Spec.Template.Spec.Containers[0] // the API server accepts no Deployment without one
	return Settings{
		Monitoring: hasMonitor,
		In:         in.Place, Image: container.Image, Replicas: int(*deployment.Spec.Replicas),
		Publish: slices.ContainsFunc(container.Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--hosted-cluster=")
		}),
	}, err
}

// deployment returns the Deployment of the controller and its cluster, nil if it does not exist.
func (i *Installer) deployment(ctx context.Context) (*appsv1.Deployment, *cluster.Cluster, error) {
	for _, in := range []*cluster.Cluster{i.Management, i.Hosted} {
		key := client.ObjectKey{Namespace: i.namespaceIn(in.Place), Name: controllerName}
		deployment := &appsv1.Deployment{}
		exists, err := in.Find(ctx, key, deployment)
		if err != nil || exists && isOwn(deployment) {
			return deployment, in, err
		}
	}
	return nil, nil, nil
}
