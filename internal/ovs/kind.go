package ovs

import (
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// keepsProfileUntilReboot tells an uplink that keeps its own profile until the next boot
// and only gives its addresses up. NetworkManager (1.42, nm_device_cleanup)
// takes a bond's members out when the bond gets another profile: half a second
// without network for active-backup, ten seconds until LACP is through again.
func keepsProfileUntilReboot(device networkmanager.Device) bool {
	return device.Type == networkmanager.Bond
}

// WithoutAddresses are settings without addresses: all else as it is, or
// NetworkManager would refuse to reapply them.
func WithoutAddresses(applied networkmanager.Settings) networkmanager.Settings {
	s := applied.Clone()
	for _, section := range []string{"ipv4", "ipv6"} {
		s.Keep(section)
		s.Set(section, "method", "disabled")
	}
	return s
}

// WithAddressesOf are settings with the addresses of others.
func WithAddressesOf(applied, original networkmanager.Settings) networkmanager.Settings {
	s := applied.Clone()
	for _, section := range []string{"ipv4", "ipv6"} {
		delete(s, section)
		if from, ok := original[section]; ok {
			s[section] = from
		}
	}
	return s
}

// LostAddresses tells whether a device's addresses were taken from it while it
// kept its profile.
func LostAddresses(applied, original networkmanager.Settings) bool {
	for _, section := range []string{"ipv4", "ipv6"} {
		if applied.Text(section, "method") != original.Text(section, "method") {
			return true
		}
	}
	return false
}

// HasOwnMAC tells whether the MAC of an uplink can be pinned. A bond with
// fail_over_mac has that of the member which is active, and a VLAN has that of
// the interface below: with another one the members' switch or hypervisor,
// which is why fail_over_mac is set, would drop what the host sends.
func HasOwnMAC(facts Facts, link host.Link) bool {
	for range len(facts.Links) + 1 { // as deep as it can be
		if link.BorrowsMAC {
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

// pinsMAC tells whether br-ex gets the uplink's MAC by its profile. One that the
// uplink only borrows is left to Open vSwitch, which takes the port's. But it
// takes none that is locally administered, as those of virtual machines are,
// and makes one up at every boot (find_local_hw_addr in ovs/vswitchd/bridge.c):
// the borrowed one is better than one that nobody knows.
func pinsMAC(facts Facts, link host.Link) bool {
	const local = 0x02 // IEEE 802, of the first byte
	mac, err := net.ParseMAC(link.MAC)
	return HasOwnMAC(facts, link) || (err == nil && len(mac) > 0 && mac[0]&local != 0)
}

func (f Facts) linkAt(index int) (host.Link, bool) {
	for _, link := range f.Links {
		if index != 0 && link.Index == index {
			return link, true
		}
	}
	return host.Link{}, false
}
