// SPDX-License-Identifier: Apache-2.0

package uplink

import "github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"

// addSecondProfile adds the profile of eth1.
const addSecondProfile = `
nmcli connection add type ethernet con-name second ifname eth1 ipv6.method disabled `

const secondUp = `
nmcli -w 60 connection up second`

// twoNetworks returns the kinds with two networks: VLAN 0 on eth0 and VLAN 200 on eth1. They test the
// choice of the uplink.
func twoNetworks() []Kind {
	dhcp := lab.Services{DHCP: true}
	two := lab.Setup{
		Services: map[int]lab.Services{0: dhcp, 200: dhcp},
		Wiring:   lab.Wiring{Access: map[int]int{1: 200}},
	}
	const on200 = "ip -4 route show default dev eth1 2>/dev/null | grep -q . || ip -4 -o address show dev br-ex " +
		"2>/dev/null | grep -q 198.18.200"
	const bothRoutes = "[ $(ip -4 route show default | wc -l) = 2 ]"
	metrics := addProfile + "ipv6.method disabled ipv4.route-metric 100" + up + addSecondProfile +
		"ipv4.route-metric 200" + secondUp
	return []Kind{
		{
			Name: "second-card", Lab: two, Cables: 2, Uplink: "eth1", Ready: on200,
			Script: addProfile + "ipv6.method disabled ipv4.never-default yes" + up + addSecondProfile + secondUp,
		},
		{Name: "two-defaults", Lab: two, Cables: 2, Ready: bothRoutes, Script: metrics},
		{
			Name: "bridge-interface", Lab: two, Cables: 2, Uplink: "eth1", Ready: bothRoutes, Script: metrics,
			Flags: "--bridge-interface eth1", CompetingRoute: true,
		},
		{
			Name: "default-bridge", Lab: two, Cables: 2, Uplink: "eth1", Ready: bothRoutes,
			Script: metrics + "\nmkdir -p /etc/ovnk; echo eth1 >/etc/ovnk/default_bridge", CompetingRoute: true,
		},
	}
}
