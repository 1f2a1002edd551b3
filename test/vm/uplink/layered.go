// SPDX-License-Identifier: Apache-2.0

package uplink

import "github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"

// bond returns a script that creates bond0 with both network cards, and with these bond options
// and profile settings.
func bond(options, settings string) string {
	return deleteProfiles + `nmcli connection add type bond con-name bond0 ifname bond0 bond.options ` + options +
		` connection.autoconnect-slaves 1 ` + settings + `
nmcli connection add type ethernet con-name bond0-a ifname eth0 master bond0
nmcli connection add type ethernet con-name bond0-b ifname eth1 master bond0
nmcli -w 90 connection up bond0
until [ "$(wc -w </sys/class/net/bond0/bonding/slaves)" = 2 ]; do sleep 0.2; done
while grep -q '^MII Status: down' /proc/net/bonding/bond0; do sleep 0.2; done`
}

// vlan returns a script that creates VLAN 100 on parent.
func vlan(parent string) string {
	return `
nmcli connection add type vlan con-name uplink ifname ` + parent + `.100 dev ` + parent +
		` id 100 ipv6.method disabled` + up
}

// vlanParent brings eth0 up without addresses.
const vlanParent = `nmcli connection add type ethernet con-name parent ifname eth0 ` + withoutAddresses + `
nmcli -w 60 connection up parent`

const withoutAddresses = "ipv4.method disabled ipv6.method disabled"

// declaredVLAN declares br-ex on bond0.100 by NMState, as a payload can.
const declaredVLAN = `
mkdir -p /etc/nmstate/openshift
cat >/etc/nmstate/openshift/cluster.yml <<END
interfaces:
- name: bond0
  type: bond
  state: up
  link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [eth0, eth1]}
- {name: bond0.100, type: vlan, state: up, vlan: {base-iface: bond0, id: 100}}
- name: br-ex
  type: ovs-bridge
  state: up
  bridge: {options: {mcast-snooping-enable: true}, port: [{name: bond0.100}, {name: br-ex}]}
- name: br-ex
  type: ovs-interface
  state: up
  copy-mac-from: bond0.100
  ipv4: {enabled: true, dhcp: true, auto-route-metric: 48}
  ipv6: {enabled: false}
END`

// layered returns the kinds with a bond or a VLAN on the network cards.
func layered() []Kind {
	dhcp := lab.Services{DHCP: true}
	on100 := lab.Setup{Services: map[int]lab.Services{100: dhcp}}
	lacp := onVLAN0(dhcp)
	lacp.Wiring.LACP = true
	return []Kind{
		{Name: "vlan", Lab: on100, Uplink: "eth0.100", Script: deleteProfiles + vlanParent + vlan("eth0")},
		{
			Name:   "bond-backup",
			Lab:    onVLAN0(dhcp),
			Cables: 2,
			Uplink: "bond0",
			Script: bond("mode=active-backup,miimon=100", ""),
		},
		{
			Name: "bond-backup-mac", Lab: onVLAN0(dhcp), Cables: 2, Uplink: "bond0",
			Script: bond("mode=active-backup,miimon=100,fail_over_mac=active", ""),
		},
		{
			Name:   "bond-lacp",
			Lab:    lacp,
			Cables: 2,
			Uplink: "bond0",
			Script: bond("mode=802.3ad,miimon=100,lacp_rate=fast", ""),
		},
		{
			Name: "vlan-on-bond", Lab: on100, Cables: 2, Uplink: "bond0.100",
			Script: bond("mode=active-backup,miimon=100", withoutAddresses) + vlan("bond0"),
		},
		{
			Name: "declared", Lab: on100, Cables: 2, Uplink: "bond0.100",
			Script: bond("mode=active-backup,miimon=100", withoutAddresses) + vlan("bond0") + declaredVLAN,
		},
	}
}
