package uplink

import "github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"

// second adds the profile of eth1.
const second = `
nmcli connection add type ethernet con-name second ifname eth1 ipv6.method disabled `

const secondUp = `
nmcli -w 60 connection up second`

// chosen returns the kinds with two networks: VLAN 0 on eth0 and VLAN 200 on eth1. They test the
// choice of the uplink.
func chosen() []Kind {
	dhcp := lab.Services{DHCP: true}
	two := lab.Setup{
		Services: map[int]lab.Services{0: dhcp, 200: dhcp},
		Wiring:   lab.Wiring{Access: map[int]int{1: 200}},
	}
	const on200 = "ip -4 route show default dev eth1 2>/dev/null | grep -q . || ip -4 -o address show dev br-ex 2>/dev/null | grep -q 198.18.200"
	const bothRoutes = "[ $(ip -4 route show default | wc -l) = 2 ]"
	metrics := add + "ipv6.method disabled ipv4.route-metric 100" + up + second + "ipv4.route-metric 200" + secondUp
	return []Kind{
		{
			Name: "second-card", Lab: two, Cables: 2, Uplink: "eth1", Ready: on200,
			Guest: add + "ipv6.method disabled ipv4.never-default yes" + up + second + secondUp,
		},
		{Name: "two-defaults", Lab: two, Cables: 2, Ready: bothRoutes, Guest: metrics},
		{
			Name: "bridge-interface", Lab: two, Cables: 2, Uplink: "eth1", Ready: bothRoutes, Guest: metrics,
			Flags: "--bridge-interface eth1", Overtakes: true,
		},
		{
			Name: "default-bridge", Lab: two, Cables: 2, Uplink: "eth1", Ready: bothRoutes,
			Guest: metrics + "\nmkdir -p /etc/ovnk; echo eth1 >/etc/ovnk/default_bridge", Overtakes: true,
		},
	}
}
