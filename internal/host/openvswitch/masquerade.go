// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"net/netip"
	"slices"
)

// MasqueradeSubnets returns OVN-Kubernetes' default masquerade subnets: those of
// clusters created since OpenShift 4.17, and those of older clusters.
//
// OVN-Kubernetes adds the second address of its masquerade subnet of each family
// to br-ex, with the subnet's prefix length, and routes to the others over br-ex:
// to services and to its own router (setupMasquerade and V4HostMasqueradeIP in
// go-controller). These addresses do not belong to the host.
func MasqueradeSubnets() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("169.254.0.0/17"), netip.MustParsePrefix("169.254.169.0/29"),
		netip.MustParsePrefix("fd69::/112"), netip.MustParsePrefix("fd69::/125"),
	}
}

// IsMasquerade reports whether an interface's address is OVN-Kubernetes' own. An
// administrator can configure an IPv4 address of that range, but not with that
// prefix length.
func IsMasquerade(address netip.Prefix) bool {
	return slices.ContainsFunc(MasqueradeSubnets(), func(subnet netip.Prefix) bool {
		isHost := address.Addr() == subnet.Addr().Next().Next()
		return isHost && (address.Addr().Is6() || address.Bits() == subnet.Bits())
	})
}
