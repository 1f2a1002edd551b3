// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// families lists the address families with their numbers in netlink.
var families = []struct{ netlink, number int }{{netlink.FAMILY_V4, 4}, {netlink.FAMILY_V6, 6}}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}

func prefixOf(network *net.IPNet) netip.Prefix {
	ip, _ := netip.AddrFromSlice(network.IP)
	ones, _ := network.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), ones)
}

// optionalPrefix returns the prefix of a network, or the zero Prefix for nil.
func optionalPrefix(network *net.IPNet) netip.Prefix {
	if network == nil {
		return netip.Prefix{}
	}
	return prefixOf(network)
}
