// SPDX-License-Identifier: Apache-2.0

package preflight

import "github.com/hcp-node-agent/hcp-node-agent/internal/report"

// CloudProvider contains kubelet's flags about the cloud.
type CloudProvider struct {
	Name       string // --cloud-provider
	ProviderID string // --provider-id
}

// checkCloudProvider reports a kubelet whose Node only a cloud controller manager initializes.
// It is a warning, because the cluster can have one and the host can be a machine of that cloud. The
// payload of a NodePool with a cloud provider is refused already in the plan.
func checkCloudProvider(f PayloadFacts) []report.Finding {
	if f.CloudProvider.Name != "external" || f.CloudProvider.ProviderID != "" {
		return nil
	}
	return warningFinding("oc get infrastructure cluster -o jsonpath='{.status.platformStatus.type}' # the host must be "+
		"a machine of this platform",
		"kubelet runs with --cloud-provider=external and without a provider ID: the Node keeps the taint "+
			"node.cloudprovider.kubernetes.io/uninitialized until a cloud controller manager recognizes this host")
}
