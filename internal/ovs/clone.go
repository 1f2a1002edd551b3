// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
)

// The original profile is cloned completely, so that search domains, static
// routes, routing rules, the firewall zone, proxies and settings of later
// NetworkManager versions are preserved. Only settings that cannot apply are
// removed. Link settings go to ovs-if-phys0, address settings to ovs-if-br-ex.

// linkSections lists the sections that only the NIC itself can have.
var linkSections = []string{"ethtool", "dcb", "sriov", "tc", "link"}

// addressSections lists the sections that only apply to the interface with the
// addresses.
var addressSections = []string{"ipv4", "ipv6", "proxy", "hostname"}

// identityProperties lists the properties of the section connection that select the
// device, the controller and the activation: each of the agent's profiles has
// its own values. The second names are those since NetworkManager 1.46.
var identityProperties = []string{
	"id", "uuid", "type", "interface-name", "timestamp", "read-only", "multi-connect",
	"autoconnect", "autoconnect-priority", "autoconnect-slaves", "autoconnect-ports",
	"master", "controller", "slave-type", "port-type", "down-on-poweroff",
}

// nicProperties lists the properties of the section connection that concern the NIC.
var nicProperties = []string{"lldp", "permissions", "wait-device-timeout", "wait-activation-delay", "auth-retries"}

// nicSettings returns the clone for the NIC as a port: with its link settings,
// without addresses. The MAC is pinned to the current one, because br-ex uses
// it too and the DHCP server identifies the host by it.
func nicSettings(p profileInputs) networkmanager.Settings {
	s := p.original.Settings.Clone()
	delete(s, "match") // interface-name is exact
	for _, section := range addressSections {
		delete(s, section)
	}
	s.Keep("connection", nicProperties...)
	for _, kind := range []string{"bond", "vlan"} {
		s.Drop(kind, "interface-name") // the former name of connection.interface-name
	}
	s.Drop("802-3-ethernet", "cloned-mac-address", "generate-mac-address-mask", "assigned-mac-address")
	p.setMAC(s)
	s.Set("802-3-ethernet", "mtu", p.device.MTU)
	return s
}

// setMAC pins the current MAC if it is the uplink's own. Otherwise Open vSwitch
// makes br-ex follow the uplink's MAC.
func (p profileInputs) setMAC(s networkmanager.Settings) {
	if pinsMAC(p.facts, p.link) {
		s.Set("802-3-ethernet", "assigned-mac-address", p.device.MAC)
	}
}

// bridgeIPSettings returns the clone for br-ex: the same addresses, DNS and
// DHCP identity, with the NIC's MAC and the bridge's metric.
func bridgeIPSettings(p profileInputs) networkmanager.Settings {
	s := p.original.Settings.Clone()
	delete(s, "match")
	for _, section := range append([]string{"802-3-ethernet", "bond", "vlan", "veth"}, linkSections...) {
		delete(s, section)
	}
	s.Drop("connection", identityProperties...)
	s.Drop("connection", "lldp", "wait-device-timeout", "wait-activation-delay")
	s.Set("ovs-interface", "type", "internal")
	p.setMAC(s)
	s.Set("802-3-ethernet", "mtu", p.device.MTU)
	dnsPriority := chooseDNSPriority(p.facts, p.link.Name)
	for _, family := range networkmanager.Families() {
		if nmprofile.HasAddresses(s, family) {
			s.Set(family.Section(), "route-metric", p.metrics[family])
		}
		if dnsPriority != 0 && nmprofile.HasAddresses(s, family) && s.Int32(family.Section(), "dns-priority") == 0 {
			s.Set(family.Section(), "dns-priority", dnsPriority)
		}
		retargetRoutingRules(s, family.Section(), p.link.Name)
	}
	p.requireAddresses(s)
	p.identity.apply(s)
	return s
}

// requireAddresses makes activation at boot wait for the address families that are in
// use now. The first family with an address is mandatory. The other family can
// be late, for example because of its router: activation waits for it, but does
// not fail without it.
func (p profileInputs) requireAddresses(s networkmanager.Settings) {
	first := true
	for _, family := range networkmanager.Families() {
		switch {
		case !nmprofile.HasAddresses(s, family) || len(p.now[family].Addresses) == 0:
			continue
		case first:
			s.Set(family.Section(), "may-fail", false)
		case atLeast(p.facts.NetworkManager.Version, 1, 34): // older versions do not have the property
			s.Set(family.Section(), "required-timeout", int32(30000)) // milliseconds
		}
		first = false
	}
}

// retargetRoutingRules makes routing rules that name the NIC name br-ex instead.
func retargetRoutingRules(s networkmanager.Settings, section, nic string) {
	s.RewriteMaps(section, "routing-rules", func(key string, v any) any {
		if (key == "iifname" || key == "oifname") && v == nic {
			return BridgeName
		}
		return v
	})
}
