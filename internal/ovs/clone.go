package ovs

import (
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
	for _, family := range networkmanager.Families() {
		if HasAddresses(s, family) {
			s.Set(family.Section(), "route-metric", p.metrics[family])
		}
		if p.dnsPriority != 0 && HasAddresses(s, family) && s.Int(family.Section(), "dns-priority") == 0 {
			s.Set(family.Section(), "dns-priority", p.dnsPriority)
		}
		overBridge(s, family.Section(), p.link.Name)
	}
	p.require(s)
	p.identity.apply(s)
	return s
}

// require makes the host wait at boot for the addresses that it has now. It is
// not up without the first family that has one. The other one can be late, as
// its router can: it is waited for, and does not take the first one down.
func (p plan) require(s networkmanager.Settings) {
	first := true
	for _, family := range networkmanager.Families() {
		switch {
		case !HasAddresses(s, family) || len(p.now[family].Addresses) == 0:
			continue
		case first:
			s.Set(family.Section(), "may-fail", false)
		case atLeast(p.version, 1, 34): // it does not know the property before
			s.Set(family.Section(), "required-timeout", int32(30000)) // milliseconds
		}
		first = false
	}
}

// overBridge makes routing rules that name the NIC name br-ex.
func overBridge(s networkmanager.Settings, section, nic string) {
	s.Rewrite(section, "routing-rules", func(key string, v any) any {
		if (key == "iifname" || key == "oifname") && v == nic {
			return BridgeName
		}
		return v
	})
}
