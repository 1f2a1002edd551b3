// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// withoutMasquerade returns ip without the addresses that OVN-Kubernetes adds,
// and without the routes to and through their subnets, which do not work on the
// uplink. It considers the addresses of both NetworkManager and the kernel:
// only NetworkManager reports link-local addresses here, and only the kernel
// reliably reports deprecated ones, which newer releases of OVN-Kubernetes use.
func withoutMasquerade(ip networkmanager.IP, link hostnet.Link) networkmanager.IP {
	var subnets []netip.Prefix
	for _, address := range slices.Concat(ip.Addresses, link.Addresses) {
		if openvswitch.IsMasquerade(address) {
			subnets = append(subnets, address.Masked())
		}
	}
	within := func(address netip.Addr) bool {
		return slices.ContainsFunc(subnets, func(subnet netip.Prefix) bool { return subnet.Contains(address) })
	}
	ip.Addresses = slices.DeleteFunc(slices.Clone(ip.Addresses), openvswitch.IsMasquerade)
	ip.Routes = slices.DeleteFunc(slices.Clone(ip.Routes), func(route networkmanager.Route) bool {
		return within(route.Gateway) || (route.Destination.Bits() > 0 && within(route.Destination.Addr()))
	})
	return ip
}
