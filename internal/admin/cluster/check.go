// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckHosted returns an error if the cluster is a management cluster. The nodes of a NodePool never join it, and an
// approval there would admit hosts to the cluster that runs the control planes. note is added to the message.
func (c *Cluster) CheckHosted(ctx context.Context, note string) error {
	isManagement, err := c.serves(ctx, hyperShiftGroup)
	switch {
	case apierrors.IsForbidden(err): // ClusterRole system:discovery, which can be removed
		return nil
	case err != nil:
		return c.Explain(ctx, err, Request{Verb: "get", Kind: "API group", Name: hyperShiftGroup})
	case !isManagement:
		return nil
	}
	return report.Fail(report.Refused, kube.AdminKubeconfigCommand+
		" # on the management cluster; then use hosted.kubeconfig",
		"%s is a management cluster, which serves %s; the kubeconfig must be that of the hosted cluster%s",
		c.Server, hyperShiftGroup, note)
}

// CheckEnrollmentAPI returns an error if the cluster does not serve the API of NodeEnrollment.
func (c *Cluster) CheckEnrollmentAPI(ctx context.Context) error {
	version := v1alpha1.GroupVersion
	isServed, err := c.serves(ctx, version.Group, version.Version)
	switch {
	case err != nil:
		return c.Explain(ctx, err, Request{Verb: "get", Kind: "API group", Name: version.Group})
	case !isServed:
		return c.withoutAPI(version.String())
	}
	return nil
}
