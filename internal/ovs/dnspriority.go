// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// defaultDNSPriority is NetworkManager's default for an interface that is not a
// VPN. Lower values come first.
const defaultDNSPriority = 100

// chooseDNSPriority returns the DNS priority for br-ex that preserves the order of
// the name servers if another interface has name servers too. 0 means the
// default.
//
// NetworkManager puts the name servers of the interface with the best default
// route first. It never revokes that rank from an interface that had it for a
// moment (update_ip_dns in nm-policy.c, 1.42). Among such interfaces the one
// activated first wins, and a bridge is activated last at every boot.
func chooseDNSPriority(facts Facts, uplink string) int32 {
	others := slices.ContainsFunc(facts.Devices, func(device networkmanager.Device) bool {
		return device.Name != uplink && device.Managed && len(device.IPv4.Nameservers)+len(device.IPv6.Nameservers) > 0
	})
	if !others {
		return 0
	}
	for _, family := range networkmanager.Families() {
		if best, ok := hostnet.BestDefaultRoute(facts.Routes, int(family)); ok && best.Link == uplink {
			return defaultDNSPriority - 1
		}
	}
	return defaultDNSPriority + 1
}
