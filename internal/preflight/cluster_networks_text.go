// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// describe returns the network with its interface, and only the address if only that is compared.
func (h hostNetwork) describe(use enrollment.NetworkUse) string {
	switch {
	case h.address.IsValid() && (h.prefix.IsSingleIP() || use == enrollment.Masquerade):
		return "address " + h.address.String() + " of " + h.link
	case h.hasGateway:
		return "the route to " + h.prefix.String() + " over " + h.link
	}
	return "network " + h.prefix.String() + " of " + h.link
}

// describe returns the network with its use.
func (n clusterNetwork) describe() string {
	text := map[enrollment.NetworkUse]string{
		enrollment.Pods: "the pod network", enrollment.Services: "the service network",
		enrollment.Join:       "the join network of OVN-Kubernetes",
		enrollment.Transit:    "the transit network of OVN-Kubernetes",
		enrollment.Masquerade: "the masquerade network of OVN-Kubernetes",
	}[n.Use]
	if text == "" {
		text = "the network for " + string(n.Use)
	}
	if n.isAssumed {
		return text + ", " + n.CIDR.String() + " unless the cluster has another one"
	}
	return text + " " + n.CIDR.String() + " of the cluster"
}

// describeOthers returns the text about further networks of a link, "" if there are none.
func describeOthers(link string, networks []string) string {
	if len(networks) == 0 {
		return ""
	}
	return " (also networks of " + link + ": " + report.AbbreviateList(networks) + ")"
}

// networkRemedy returns how to change the network of the host or of the cluster.
func networkRemedy(network clusterNetwork) report.Remedy {
	const ovn = "spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig."
	family := "ipv6"
	if network.CIDR.Addr().Is4() {
		family = "ipv4"
	}
	field := map[enrollment.NetworkUse]string{
		enrollment.Pods:     "spec.networking.clusterNetwork of a new HostedCluster",
		enrollment.Services: "spec.networking.serviceNetwork of a new HostedCluster",
		enrollment.Join:     ovn + family + ".internalJoinSubnet of the HostedCluster",
		enrollment.Transit:  ovn + family + ".internalTransitSwitchSubnet of the HostedCluster",
		enrollment.Masquerade: "spec.defaultNetwork.ovnKubernetesConfig.gatewayConfig." + family +
			".internalMasqueradeSubnet of networks.operator.openshift.io cluster in the hosted cluster",
	}[network.Use]
	if field == "" {
		return "# change or remove that network of the host"
	}
	return report.Remedyf("# change or remove that network of the host, or set another one in %s", field)
}
