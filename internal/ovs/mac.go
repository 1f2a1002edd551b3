// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// uniquePermanentMAC returns the permanent MAC of an Ethernet NIC if no other interface
// has the same one, else nil. On some clouds a virtual function shares the MAC
// of the interface above it.
func uniquePermanentMAC(facts Facts, link hostnet.Link, original networkmanager.Settings) []byte {
	if link.PermanentMAC == "" || original.Text("connection", "type") != "802-3-ethernet" {
		return nil
	}
	if _, alone := hostnet.LinkByPermanentMAC(facts.Links, link.PermanentMAC); !alone {
		return nil
	}
	return parseMAC(link.PermanentMAC)
}

// parseMAC returns the bytes of an Ethernet MAC, nil for any other text.
func parseMAC(text string) []byte {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return nil
	}
	return mac
}

// HasOwnMAC reports whether the MAC of an uplink can be pinned. A bond with
// fail_over_mac has the MAC of its active port, and a VLAN has the MAC of the
// interface below. With another MAC the switch or hypervisor of the ports would
// drop the host's frames, which is the purpose of fail_over_mac.
func HasOwnMAC(facts Facts, link hostnet.Link) bool {
	for range len(facts.Links) + 1 { // the maximum depth
		if link.InheritsMAC {
			return false
		}
		below, ok := facts.linkAt(link.Parent)
		if !ok {
			return true
		}
		link = below
	}
	return true
}

// pinsMAC reports whether the profile of br-ex sets the uplink's MAC. A MAC
// that the uplink inherits is left to Open vSwitch, which uses the port's. Open
// vSwitch does not use locally administered MACs, though, which virtual
// machines have. It generates one at every boot instead (find_local_hw_addr in
// ovs/vswitchd/bridge.c). The inherited MAC is better than a random one.
func pinsMAC(facts Facts, link hostnet.Link) bool {
	const local = 0x02 // IEEE 802, in the first byte
	mac := parseMAC(link.MAC)
	return HasOwnMAC(facts, link) || (mac != nil && mac[0]&local != 0)
}
