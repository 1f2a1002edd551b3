// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// hyperShiftGroup is the API group of HostedClusters and NodePools, which a management cluster
// serves and a hosted cluster does not.
const hyperShiftGroup = "hypershift.openshift.io"

// checkHostedCluster returns an error if the kubeconfig is that of a management cluster. The nodes
// of a NodePool are never approved there, and the right to approve would admit hosts to the cluster
// that runs the control planes.
func (a *Approver) checkHostedCluster(ctx context.Context) error {
	if a.options.AllowManagementCluster {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, kube.RequestTimeout)
	defer cancel()
	err := a.client.RESTClient().Get().AbsPath("/apis", hyperShiftGroup).Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // ClusterRole system:discovery, which can be removed
		return nil
	case err != nil:
		return fmt.Errorf("checking whether %s is a hosted cluster: %w", a.server, err)
	}
	return report.Fail(report.Refused, "oc -n NAMESPACE extract secret/NAME-admin-kubeconfig --keys kubeconfig --to - "+
		"> hosted.kubeconfig # on the management cluster; then create the approver's kubeconfig with hosted.kubeconfig\n"+
		"oc delete -f deploy/approver-rbac.yaml # on the management cluster, if you have created the permissions there",
		"%s is a management cluster, which serves %s; the approver needs a kubeconfig of the hosted cluster "+
			"(--allow-management-cluster approves nodes of the management cluster itself)", a.server, hyperShiftGroup)
}
