package ovs

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// The original profile is cloned whole, so that search domains, static routes,
// routing rules, the firewall zone, proxies and whatever a later version of
// NetworkManager knows come along; only what cannot apply is dropped. What is
// about the cable goes to ovs-if-phys0, what is about addresses to ovs-if-br-ex.

// ofCable are the sections that only the NIC itself can have.
var ofCable = []string{"ethtool", "dcb", "sriov", "tc", "link"}

// ofAddresses are the sections that only make sense where the addresses are.
var ofAddresses = []string{"ipv4", "ipv6", "proxy", "hostname"}

// ofIdentity are the properties of the section connection that say which
// device, which master and when: every one of our profiles has its own. The
// second names are those since NetworkManager 1.46.
var ofIdentity = []string{
	"id", "uuid", "type", "interface-name", "timestamp", "read-only", "multi-connect",
	"autoconnect", "autoconnect-priority", "autoconnect-slaves", "autoconnect-ports",
	"master", "controller", "slave-type", "port-type", "down-on-poweroff",
}

// ofNIC are the properties of the section connection that are about the NIC.
var ofNIC = []string{"lldp", "permissions", "wait-device-timeout", "wait-activation-delay", "auth-retries"}

// nicSettings is the clone for the NIC as a port: the cable's settings, its
// addresses gone. The MAC is pinned to the present one, as br-ex has it too
// and the DHCP server knows the host by it.
func nicSettings(p plan) networkmanager.Settings {
	s := p.original.Clone()
	delete(s, "match") // interface-name is exact
	for _, section := range ofAddresses {
		delete(s, section)
	}
	s.Keep("connection", ofNIC...)
	for _, kind := range []string{"bond", "vlan"} {
		s.Drop(kind, "interface-name") // the old name of connection.interface-name
	}
	s.Drop("802-3-ethernet", "cloned-mac-address", "generate-mac-address-mask", "assigned-mac-address")
	p.setMAC(s)
	s.Set("802-3-ethernet", "mtu", p.device.MTU)
	return s
}

// setMAC pins the present MAC where that is the uplink's own. Where it is not,
// Open vSwitch lets br-ex follow the uplink's.
func (p plan) setMAC(s networkmanager.Settings) {
	if p.pinMAC {
		s.Set("802-3-ethernet", "assigned-mac-address", p.device.MAC)
	}
}

// bridgeIPSettings is the clone for br-ex: the same addresses, DNS and DHCP
// identity, with the NIC's MAC and the bridge's metric.
func bridgeIPSettings(p plan) networkmanager.Settings {
	s := p.original.Clone()
	delete(s, "match")
	for _, section := range append([]string{"802-3-ethernet", "bond", "vlan", "veth"}, ofCable...) {
		delete(s, section)
	}
	s.Drop("connection", append([]string{"lldp", "wait-device-timeout", "wait-activation-delay"}, ofIdentity...)...)
	s.Set("ovs-interface", "type", "internal")
	p.setMAC(s)
	s.Set("802-3-ethernet", "mtu", p.device.MTU)
	s.Set("ipv4", "route-metric", int64(bridgeMetric))
	// The host is not up without this address: wait for it at boot.
	s.Set("ipv4", "may-fail", false)
	if id := p.device.IPv4.DHCP["dhcp_client_identifier"]; isHex(id) {
		// What was really sent: a profile can say "stable" or "duid", which
		// depend on the profile's UUID and on the interface's name.
		s.Set("ipv4", "dhcp-client-id", id)
	}
	if _, ok := s["ipv6"]; ok {
		s.Set("ipv6", "route-metric", int64(bridgeMetric))
		p.identity.pin(s)
	}
	return s
}

// isHex tells a client identifier in bytes, 01:52:54:00:12:34:56, from a text.
func isHex(id string) bool {
	return strings.Contains(id, ":") && strings.Trim(strings.ToLower(id), "0123456789abcdef:") == ""
}
