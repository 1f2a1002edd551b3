package migrate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// ipv6Addresses is IPv6 that the kernel is made to have while NetworkManager gets it
// anew. NetworkManager forgets what routers have advertised, and mostly a
// DHCPv6 lease too, at a reapply that changes the section ipv6 (_cleanup_ip_pre
// in nm-device.c, 1.42), as at an activation: addresses and default route go,
// and come back when a router answers, which it may delay for seconds (RFC
// 4861, 6.2.6), and when no other host has claimed the addresses for a second.
// nil is nothing held.
type ipv6Addresses struct {
	hold      *host.Hold
	link      string
	addresses []netip.Prefix
	gateway   netip.Addr
	metric    int // of the default route that NetworkManager will make
}

// keepIPv6 holds what a host has now on a link. Addresses set by hand need it
// too: their default route waits for the link-local address, which is looked
// for elsewhere again.
func keepIPv6(link string, profile networkmanager.Settings, now networkmanager.IP, metric int) (*ipv6Addresses, error) {
	if !ovs.HasAddresses(profile, networkmanager.IPv6) || len(now.Addresses) == 0 {
		return nil, nil
	}
	hold, err := host.StartHold(link, now.Addresses, now.Gateway, metric+1)
	if err != nil {
		return nil, err
	}
	return &ipv6Addresses{hold: hold, link: link, addresses: now.Addresses, gateway: now.Gateway, metric: metric}, nil
}

// release ends it.
func (h *ipv6Addresses) release() error {
	if h == nil || h.hold == nil {
		return nil
	}
	hold := h.hold
	h.hold = nil
	return hold.Stop()
}

// missing tells what is only there because it is held, "" for nothing.
func (h *ipv6Addresses) missing(facts ovs.Facts) string {
	if h == nil {
		return ""
	}
	link, _ := facts.Link(h.link)
	for _, prefix := range h.addresses {
		if slices.Contains(link.Foreign, prefix.Addr()) {
			return fmt.Sprintf("NetworkManager has not given it the address %s yet", prefix.Addr())
		}
	}
	if route, ok := host.DefaultRouteOf(facts.Routes, 6, h.link); h.gateway.IsValid() && ok && route.Metric > h.metric {
		return "NetworkManager has not made the default route of IPv6 yet"
	}
	return ""
}
