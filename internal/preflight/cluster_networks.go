// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NetworkFacts is the input of NetworkCheck.
type NetworkFacts struct {
	Addresses     []hostnet.LinkAddress
	Routes        []hostnet.TableRoute // of all routing tables
	NodeAddresses []netip.Addr         // of the node; nil if they are unknown

	Known      []enrollment.ClusterNetwork // networks of the cluster; nil if they are unknown
	ClusterDNS []netip.Addr                // addresses in the service networks
	// AssumesOVN means that the network plugin is OVN-Kubernetes, as far as known: its default networks are checked
	// unless Known contains others.
	AssumesOVN bool
	// HasJoined means that pods of the cluster may run on the host, so that routes may be those of its network plugin.
	HasJoined bool
}

// NetworkCheck returns the check of the host's networks against those of the cluster.
func NetworkCheck() Check[NetworkFacts] {
	return Check[NetworkFacts]{
		"cluster-networks", "no network of the host overlaps a network of the cluster", checkClusterNetworks,
	}
}

// clusterNetwork is a network of the cluster, or of OVN-Kubernetes by default.
type clusterNetwork struct {
	enrollment.ClusterNetwork

	isAssumed bool
}

// hostNetwork is a destination of the host.
type hostNetwork struct {
	link       string
	prefix     netip.Prefix
	address    netip.Addr // of the host in the network; invalid for a route
	hasGateway bool       // the network is behind a router
}

// checkClusterNetworks returns a finding for each interface and each network of the cluster that it overlaps. The node
// would be Ready, and have no traffic to the addresses of both networks.
func checkClusterNetworks(f NetworkFacts) []report.Finding {
	var findings []report.Finding
	networks, hosts := f.networks(), f.hostNetworks()
	for _, network := range networks {
		findings = append(findings, f.compare(network, hosts)...)
	}
	for _, dns := range f.ClusterDNS {
		isChecked := slices.ContainsFunc(networks, func(n clusterNetwork) bool { return n.CIDR.Contains(dns) })
		if !isChecked {
			findings = append(findings, f.checkDNS(dns, hosts)...)
		}
	}
	return findings
}

// networks returns the known networks of the cluster, and the default networks of OVN-Kubernetes for uses of which no
// network is known.
func (f NetworkFacts) networks() []clusterNetwork {
	var networks []clusterNetwork
	for _, one := range f.Known {
		networks = append(networks, clusterNetwork{ClusterNetwork: one})
	}
	if !f.AssumesOVN || f.IsKnown(enrollment.Pods) && !f.IsKnown(enrollment.Join) {
		return networks // another network plugin
	}
	for _, one := range defaultNetworks() {
		// br-ex of a joined host has an address in the masquerade network, which may be another one.
		isOnBridge := f.HasJoined && one.Use == enrollment.Masquerade
		if !f.IsKnown(one.Use) && !isOnBridge {
			networks = append(networks, clusterNetwork{ClusterNetwork: one, isAssumed: true})
		}
	}
	return networks
}

// IsKnown reports whether a network of the cluster with a use is known.
func (f NetworkFacts) IsKnown(use enrollment.NetworkUse) bool {
	return slices.ContainsFunc(f.Known, func(n enrollment.ClusterNetwork) bool { return n.Use == use })
}

// defaultNetworks returns the networks that OVN-Kubernetes uses unless others are configured.
func defaultNetworks() []enrollment.ClusterNetwork {
	networks := []enrollment.ClusterNetwork{
		{Use: enrollment.Join, CIDR: netip.MustParsePrefix("100.64.0.0/16")},
		{Use: enrollment.Join, CIDR: netip.MustParsePrefix("fd98::/64")},
		{Use: enrollment.Transit, CIDR: netip.MustParsePrefix("100.88.0.0/16")},
		{Use: enrollment.Transit, CIDR: netip.MustParsePrefix("fd97::/64")},
	}
	for _, subnet := range openvswitch.MasqueradeSubnets() {
		networks = append(networks, enrollment.ClusterNetwork{Use: enrollment.Masquerade, CIDR: subnet})
	}
	return networks
}

// hostNetworks returns the networks of the host, without those of the network plugin, of lo and of link-local routes.
func (f NetworkFacts) hostNetworks() []hostNetwork {
	var networks []hostNetwork
	for _, address := range f.Addresses {
		if address.Address.IsValid() && !isPluginLink(address.Link) && !f.isPluginAddress(address.Address) {
			networks = append(networks,
				hostNetwork{link: address.Link, prefix: address.Address.Masked(), address: address.Address.Addr()})
		}
	}
	for _, route := range f.Routes {
		destination, gateway := route.Destination, route.Gateway
		isDefault := !destination.IsValid() || destination.Bits() <= 1 // 0.0.0.0/1 and 128.0.0.0/1 replace a default route
		// 169.254.0.0/16 and 169.254.169.254/32 are routes of zeroconf and to the metadata of clouds.
		if isDefault || isPluginLink(route.Link) || !destination.Addr().IsGlobalUnicast() || f.isMasquerade(gateway) ||
			f.isMasquerade(destination.Addr()) || f.HasJoined && gateway.IsValid() {
			continue
		}
		isListed := slices.ContainsFunc(networks, func(n hostNetwork) bool {
			return n.link == route.Link && n.prefix == destination
		})
		if !isListed {
			networks = append(networks, hostNetwork{link: route.Link, prefix: destination, hasGateway: gateway.IsValid()})
		}
	}
	return networks
}

// isPluginLink reports whether only the network plugin uses a link, or the link is lo.
func isPluginLink(link string) bool {
	return link == "lo" || link == "br-int" || strings.HasPrefix(link, "ovn-k8s-mp") ||
		strings.HasPrefix(link, "genev_sys_")
}

// masqueradeSubnets returns the subnets of which OVN-Kubernetes may use addresses.
func (f NetworkFacts) masqueradeSubnets() []netip.Prefix {
	subnets := openvswitch.MasqueradeSubnets()
	for _, one := range f.Known {
		if one.Use == enrollment.Masquerade {
			subnets = append(subnets, one.CIDR)
		}
	}
	return subnets
}

// isPluginAddress reports whether an address of the host is the one that OVN-Kubernetes adds to br-ex.
func (f NetworkFacts) isPluginAddress(address netip.Prefix) bool {
	return openvswitch.IsMasquerade(address) || slices.ContainsFunc(f.masqueradeSubnets(), func(s netip.Prefix) bool {
		return address.Addr() == s.Addr().Next().Next() && address.Bits() == s.Bits()
	})
}

func (f NetworkFacts) isMasquerade(address netip.Addr) bool {
	return slices.ContainsFunc(f.masqueradeSubnets(), func(s netip.Prefix) bool { return s.Contains(address) })
}

// compare returns the findings about the host's networks that overlap a network of the cluster, one for each interface.
func (f NetworkFacts) compare(network clusterNetwork, hosts []hostNetwork) []report.Finding {
	var findings []report.Finding
	var seen []string
	for _, host := range hosts {
		if slices.Contains(seen, host.link) || !host.overlaps(network) {
			continue
		}
		seen = append(seen, host.link)
		worst := host
		var others []string
		for _, other := range hosts {
			if other.link != host.link || other == host || !other.overlaps(network) {
				continue
			}
			others = append(others, other.prefix.String())
			if f.refuses(other, network) && !f.refuses(worst, network) {
				worst = other
				others[len(others)-1] = host.prefix.String()
			}
		}
		finding := report.Refusalf
		if !f.refuses(worst, network) {
			finding = warnf
		}
		findings = append(findings, finding(networkRemedy(network), "%s overlaps %s; this node would have no traffic to "+
			"addresses of both networks%s", worst.describe(network.Use), network.describe(), describeOthers(host.link, others)))
	}
	return findings
}

func warnf(remedy report.Remedy, format string, args ...any) report.Finding {
	return report.Findingf(report.SeverityWarning, remedy, format, args...)
}

// overlaps reports whether the node would lose traffic because of both networks. OVN-Kubernetes uses the masquerade
// network only on the host itself, so that only addresses of the host are compared with it.
func (h hostNetwork) overlaps(network clusterNetwork) bool {
	if network.Use == enrollment.Masquerade {
		return h.address.IsValid() && network.CIDR.Contains(h.address)
	}
	return h.prefix.Overlaps(network.CIDR)
}

// refuses reports whether the networks must not be combined. A single address that is not the node's is unreachable
// only for itself, such as that of a VPN. A wider network behind a router remains reachable: the routes of the network
// plugin are more specific.
func (f NetworkFacts) refuses(h hostNetwork, network clusterNetwork) bool {
	isNode := slices.Contains(f.NodeAddresses, h.address)
	switch {
	case network.isAssumed:
		return false
	case isNode && network.CIDR.Contains(h.address), network.Use == enrollment.Masquerade:
		return true
	case h.prefix.IsSingleIP():
		return false
	}
	return !h.hasGateway || h.prefix.Bits() >= network.CIDR.Bits()
}

// checkDNS returns a finding for each interface with a network that contains an address of the cluster DNS service,
// which is the tenth address of the first service network (HyperShift) or another of its addresses.
func (f NetworkFacts) checkDNS(dns netip.Addr, hosts []hostNetwork) []report.Finding {
	var findings []report.Finding
	var seen []string
	for _, host := range hosts {
		if slices.Contains(seen, host.link) || !host.prefix.Contains(dns) {
			continue
		}
		seen = append(seen, host.link)
		finding := report.Refusalf
		if host.hasGateway { // the route to the service network is usually more specific
			finding = warnf
		}
		services := clusterNetwork{ClusterNetwork: enrollment.ClusterNetwork{Use: enrollment.Services}}
		findings = append(findings, finding(networkRemedy(services), "%s contains %s, the address of the cluster DNS "+
			"service, so it overlaps the service network of the cluster; this node would have no traffic to addresses of "+
			"both networks", host.describe(enrollment.Services), dns))
	}
	return findings
}
