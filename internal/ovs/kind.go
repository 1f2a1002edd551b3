package ovs

import (
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// keepsProfileUntilReboot reports whether the uplink keeps its own profile
// until the next boot and only loses its addresses. NetworkManager (1.42,
// nm_device_cleanup) detaches a bond's ports when the bond gets another
// profile. That interrupts the network for half a second with active-backup,
// and for ten seconds until LACP has negotiated again.
func keepsProfileUntilReboot(device networkmanager.Device) bool {
	return device.Type == networkmanager.Bond
}

// WithoutAddresses returns the settings without addresses. All other settings
// are unchanged, or NetworkManager would refuse to reapply them.
func WithoutAddresses(applied networkmanager.Settings) networkmanager.Settings {
	s := applied.Clone()
	for _, section := range []string{"ipv4", "ipv6"} {
		s.Keep(section)
		s.Set(section, "method", "disabled")
	}
	return s
}

// WithAddressesOf returns applied with the address settings of original.
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

// LostAddresses reports whether a device's addresses were removed while it kept
// its profile.
func LostAddresses(applied, original networkmanager.Settings) bool {
	for _, section := range []string{"ipv4", "ipv6"} {
		if applied.Text(section, "method") != original.Text(section, "method") {
			return true
		}
	}
	return false
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
	mac, err := net.ParseMAC(link.MAC)
	return HasOwnMAC(facts, link) || (err == nil && len(mac) > 0 && mac[0]&local != 0)
}

func (f Facts) linkAt(index int) (hostnet.Link, bool) {
	for _, link := range f.Links {
		if index != 0 && link.Index == index {
			return link, true
		}
	}
	return hostnet.Link{}, false
}
