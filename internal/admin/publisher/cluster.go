// SPDX-License-Identifier: Apache-2.0

package publisher

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkCluster fails if the hosted cluster is not that of the HostedCluster: its nodes would get the pull secret of
// another cluster, and would be upgraded to its payload. A cluster without a ClusterVersion, which only OpenShift has,
// is not checked.
func (p *Publisher) checkCluster(ctx context.Context, cluster *nodepool.HostedCluster) error {
	version := &unstructured.Unstructured{}
	version.SetAPIVersion("config.openshift.io/v1")
	version.SetKind("ClusterVersion")
	err := p.Live.Get(ctx, client.ObjectKey{Name: "version"}, version)
	if meta.IsNoMatchError(err) || err != nil && client.IgnoreNotFound(err) == nil {
		return nil
	}
	if err != nil {
		return explainHosted("getting ClusterVersion version", err)
	}
	id, _, _ := unstructured.NestedString(version.Object, "spec", "clusterID")
	if id == "" || cluster.Spec.ClusterID == "" || id == cluster.Spec.ClusterID {
		return nil
	}
	return report.Fail(report.Refused, report.Remedyf("# run the controller with the kubeconfig of this HostedCluster, "+
		"or with its name in --hosted-cluster:\noc -n %s get hostedclusters "+
		"-o custom-columns=NAME:.metadata.name,CLUSTERID:.spec.clusterID", p.Namespace),
		"the hosted cluster has the cluster ID %s, but HostedCluster %s the cluster ID %s", id, p.HostedCluster,
		cluster.Spec.ClusterID)
}
