package ovs

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// NetworkManager forgets what routers have advertised, and mostly a DHCPv6
// lease too, at a reapply that changes the section ipv6 (_cleanup_ip_pre in
// nm-device.c, 1.42): addresses and default route go, and come back when a
// router answers, which it may delay for seconds (RFC 4861, 6.2.6), and when
// no other host has claimed the addresses for a second. Therefore the kernel is
// made to have them all the time, until NetworkManager has them again.

// holdIPv6 begins with it, where br-ex asks for IPv6.
func (a *attempt) holdIPv6() error {
	if !asks(a.Profiles.BridgeIP, networkmanager.IPv6) || len(a.Origin.IPv6.Addresses) == 0 {
		return nil
	}
	gateway, metric := netip.Addr{}, a.finalMetric()+1
	if route, ok := a.routeOf(networkmanager.IPv6); ok {
		gateway = route.Gateway
	}
	var err error
	a.hold, err = host.StartHold(BridgeName, a.Origin.IPv6.Addresses, gateway, metric)
	return err
}

// letHeldGo ends it.
func (a *attempt) letHeldGo() error {
	if a.hold == nil {
		return nil
	}
	hold := a.hold
	a.hold = nil
	return hold.Stop()
}

// onlyHeld tells what is only there because it is held, "" for nothing.
func (a *attempt) onlyHeld(facts Facts) string {
	if a.hold == nil {
		return ""
	}
	link, _ := facts.link(BridgeName)
	for _, address := range a.Stable {
		if slices.Contains(link.Foreign, address) {
			return fmt.Sprintf("no router and no DHCP server has given it the address %s yet", address)
		}
	}
	_, had := a.routeOf(networkmanager.IPv6)
	if route, ok := routeOf(facts.Routes, 6, BridgeName); had && ok && route.Metric > a.finalMetric() {
		return "no router has advertised itself yet"
	}
	return ""
}

func (a *attempt) finalMetric() int {
	return int(a.Profiles.BridgeIP.Long("ipv6", "route-metric"))
}
