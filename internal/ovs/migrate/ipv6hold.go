// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
)

// ipv6Addresses keeps IPv6 addresses and a default route in the kernel while
// NetworkManager configures IPv6 again.
//
// At an activation, and at a reapply that changes the section ipv6,
// NetworkManager discards router advertisements and usually also a DHCPv6 lease
// (_cleanup_ip_pre in nm-device.c, 1.42). Addresses and default route return
// when a router responds, which it may delay for seconds (RFC 4861, 6.2.6), and
// after one second of duplicate address detection. nil keeps nothing.
type ipv6Addresses struct {
	hold      *hostnet.AddressKeeper
	link      string
	addresses []netip.Prefix
	gateway   netip.Addr
	metric    int // of the default route that NetworkManager will add
}

// keepIPv6 keeps the current addresses and gateway on a link. Manual addresses
// need this too: their default route waits for duplicate address detection of
// the link-local address.
func keepIPv6(
	link string, profile networkmanager.Settings, now networkmanager.IP, metric int,
) (*ipv6Addresses, error) {
	if !nmprofile.HasAddresses(profile, networkmanager.IPv6) || len(now.Addresses) == 0 {
		return nil, nil
	}
	hold, err := hostnet.StartAddressKeeper(link, now.Addresses, now.Gateway, metric+1)
	if err != nil {
		return nil, err
	}
	return &ipv6Addresses{
		hold:      hold,
		link:      link,
		addresses: now.Addresses,
		gateway:   now.Gateway,
		metric:    metric,
	}, nil
}

// release ends the protection of the addresses.
func (a *ipv6Addresses) release() error {
	if a == nil || a.hold == nil {
		return nil
	}
	hold := a.hold
	a.hold = nil
	return hold.Stop()
}

// missing describes an address or route that only exists because a keeps it. It
// returns "" if NetworkManager has configured all of them.
func (a *ipv6Addresses) missing(facts ovs.Facts) string {
	if a == nil {
		return ""
	}
	link, _ := facts.Link(a.link)
	for _, prefix := range a.addresses {
		if slices.Contains(link.WithPrefixRoute, prefix.Addr()) {
			return fmt.Sprintf("NetworkManager has not configured the address %s yet", prefix.Addr())
		}
	}
	route, ok := hostnet.DefaultRouteOf(facts.Routes, 6, a.link)
	if a.gateway.IsValid() && ok && route.Metric > a.metric {
		return "NetworkManager has not configured the IPv6 default route yet"
	}
	return ""
}
