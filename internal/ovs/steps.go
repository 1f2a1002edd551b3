package ovs

import (
	"math"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// worse is added to the NIC's metric for the routes of the copy, so that
// traffic keeps to the NIC until it gives its address up.
const worse = 300

// copyStep is ovs-if-br-ex as long as the NIC still has the address: the same
// address, gateway, routes and name servers, set by hand, with a worse metric.
// Nothing is asked for yet: the bridge has no cable.
func copyStep(final networkmanager.Settings, now networkmanager.IPv4, metric int) networkmanager.Settings {
	s := dormant(final)
	s.Keep("ipv4", "dns-search", "dns-options", "dns-priority", "routing-rules", "route-table", "ignore-auto-dns")
	s.Set("ipv4", "method", "manual")
	s.Set("ipv4", "route-metric", int64(metric+worse))
	s.SetIPv4(now)
	if _, ok := s["ipv6"]; ok {
		s.Set("ipv6", "route-metric", int64(metric+worse))
	}
	waitForNoIPv6(s)
	return s
}

// leaseStep asks for a lease while the copy is kept: going from a manual
// address to DHCP in one step takes the address away until the lease is there.
func leaseStep(final networkmanager.Settings, now networkmanager.IPv4) networkmanager.Settings {
	s := withAddress(dormant(final), now)
	waitForNoIPv6(s)
	return s
}

// withAddress is a DHCP profile that has an address beside, however long the
// DHCP server takes.
func withAddress(dhcp networkmanager.Settings, now networkmanager.IPv4) networkmanager.Settings {
	s := dhcp.Clone()
	s.SetIPv4(now)
	s.Set("ipv4", "dhcp-timeout", int32(math.MaxInt32)) // infinity
	return s
}

// waitForNoIPv6 lets the activation succeed before the bridge has a cable.
func waitForNoIPv6(s networkmanager.Settings) {
	if _, ok := s["ipv6"]; ok {
		s.Set("ipv6", "may-fail", true)
	}
}
