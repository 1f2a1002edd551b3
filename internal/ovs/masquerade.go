package ovs

import (
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// OVN-Kubernetes puts the second address of its masquerade subnet of each family
// on br-ex, with the subnet's length, and routes over br-ex that lead to the
// others: to services, and to its own router (setupMasquerade and
// V4HostMasqueradeIP in go-controller). They are no addresses of the host, and
// would lead nowhere on the uplink.

// masqueradeSubnets are the defaults: of clusters since OpenShift 4.17, and of
// those that were made before.
func masqueradeSubnets() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("169.254.0.0/17"), netip.MustParsePrefix("169.254.169.0/29"),
		netip.MustParsePrefix("fd69::/112"), netip.MustParsePrefix("fd69::/125"),
	}
}

// masquerade tells whether an address on an interface is OVN-Kubernetes'. An
// administrator can have given an IPv4 address of that range, but not with that
// length.
func masquerade(address netip.Prefix) bool {
	return slices.ContainsFunc(masqueradeSubnets(), func(subnet netip.Prefix) bool {
		return address.Addr() == subnet.Addr().Next().Next() && (address.Addr().Is6() || address.Bits() == subnet.Bits())
	})
}

// withoutMasquerade leaves OVN-Kubernetes' own addresses out, and the routes to
// their subnets and by them. There are those that NetworkManager tells of and
// those that the kernel has: of link-local ones only NetworkManager tells here,
// and of deprecated ones, as the newer OVN-Kubernetes' are, surely the kernel.
func withoutMasquerade(ip networkmanager.IP, link host.Link) networkmanager.IP {
	var subnets []netip.Prefix
	for _, address := range slices.Concat(ip.Addresses, link.Addresses) {
		if masquerade(address) {
			subnets = append(subnets, address.Masked())
		}
	}
	within := func(address netip.Addr) bool {
		return slices.ContainsFunc(subnets, func(subnet netip.Prefix) bool { return subnet.Contains(address) })
	}
	ip.Addresses = slices.DeleteFunc(slices.Clone(ip.Addresses), masquerade)
	ip.Routes = slices.DeleteFunc(slices.Clone(ip.Routes), func(route networkmanager.Route) bool {
		return within(route.Gateway) || (route.Destination.Bits() > 0 && within(route.Destination.Addr()))
	})
	return ip
}
