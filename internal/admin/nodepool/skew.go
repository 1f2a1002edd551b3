// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxOlder is the number of minor versions by which a NodePool may be older than the control plane.
const maxOlder = 3

// checkSkew compares the releases of the NodePool and the control plane as HyperShift does (ValidateVersionSkew in
// support/supportedversion). HyperShift itself continues with an unsupported release. The agent refuses a kubelet with
// a newer minor version than that of the API server.
func (f *Facts) checkSkew(all *findings) {
	pool, err := version.ParseSemantic(f.NodePool.Status.Version)
	cluster, clusterErr := version.ParseSemantic(f.HostedCluster.version())
	if err != nil || clusterErr != nil {
		return // one of them is not known before the first reconciliation
	}
	older := minor(cluster) - minor(pool)
	switch {
	case older < 0:
		all.add(report.SeverityProblem, "skew", fmt.Sprintf("the release %s of the NodePool is newer than that of the "+
			"control plane, %s, which is not supported", pool, cluster), f.releaseRemedy())
	case older > maxOlder:
		all.add(report.SeverityProblem, "skew", fmt.Sprintf("the release %s of the NodePool is %d minor versions older than "+
			"that of the control plane, %s; at most %d are supported", pool, older, cluster, maxOlder), f.releaseRemedy())
	case cluster.LessThan(pool):
		all.add(report.SeverityWarning, "skew", fmt.Sprintf("the release %s of the NodePool is newer than that of the "+
			"control plane, %s; HyperShift supports only the same or an older release", pool, cluster), f.releaseRemedy())
	}
}

// minor returns the minor version in the series of OpenShift 4, in which 5.0 is 4.23.
func minor(v *version.Version) int {
	const firstOf5 = 23
	if v.Major() == 5 {
		return firstOf5 + int(v.Minor()) //nolint:gosec // a minor version
	}
	return int(v.Minor()) //nolint:gosec // a minor version
}
