// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
)

// Conditions for Kind.Ready: a default route, and an address that is no longer
// tentative.
const (
	has4 = `ip -4 route show default | grep -q . && ip -4 -o address show scope global | grep -v ctl0 | grep -q .`
	has6 = `ip -6 route show default | grep -q . && ip -6 -o address show scope global -tentative | grep -q .`
)

// onVLAN0 returns a setup with s on VLAN 0.
func onVLAN0(s lab.Services) lab.Setup { return lab.Setup{Services: map[int]lab.Services{0: s}} }

// Kinds returns all kinds.
func Kinds() []Kind {
	kinds := append(ethernet(), layered()...)
	kinds = append(kinds, twoNetworks()...)
	for i := range kinds {
		if kinds[i].Cables == 0 {
			kinds[i].Cables = 1
		}
		if kinds[i].Ready == "" {
			kinds[i].Ready = has4
		}
		kinds[i].Variant = slices.Contains(variants(), kinds[i].Name)
		if kinds[i].Uplink == "" {
			kinds[i].Uplink = "eth0"
		}
	}
	return kinds
}

// variants returns the names of the kinds that differ little from another kind.
func variants() []string {
	return []string{
		"dhcp4-auto", "dhcp4-identity", "dhcp4-mac", "slaac-eui64", "dhcp-both", "static-dual", "jumbo-by-dhcp",
		"bond-backup-mac", "bridge-interface", "default-bridge",
	}
}

// addProfile is the start of a command that adds the profile of eth0.
const addProfile = deleteProfiles + `nmcli connection add type ethernet con-name uplink ifname eth0 `

const up = `
nmcli -w 60 connection up uplink`

// ethernet returns the kinds with one network card, by address configuration.
func ethernet() []Kind {
	var (
		dhcp   = lab.Services{DHCP: true}
		slaac  = lab.Services{SLAAC: true}
		dual   = lab.Services{DHCP: true, SLAAC: true}
		dhcpv6 = lab.Services{DHCPv6: true}
		both   = lab.Services{DHCP: true, DHCPv6: true}
		silent = lab.Services{}
	)
	return []Kind{
		{Name: "dhcp4-auto", Lab: onVLAN0(dhcp)}, // the profile that NetworkManager creates
		{Name: "dhcp4", Lab: onVLAN0(dhcp), Script: addProfile + up},
		{
			Name: "dhcp4-identity", Lab: onVLAN0(dhcp),
			Script: addProfile +
				`ipv4.dhcp-client-id 01:aa:bb:cc:dd:ee:ff ipv4.dns-search corp.example ipv4.route-metric 77 \
				connection.zone internal +ipv4.addresses 192.0.2.51/24` + up,
		},
		{ // as cloud-init writes it; each byte of the MAC contains an e
			Name: "dhcp4-mac", Lab: onVLAN0(dhcp),
			Script: deleteProfiles + `mac=$(cat /sys/class/net/eth0/address)
			nmcli connection add type ethernet con-name uplink ifname '*' ethernet.mac-address "$mac" \
				ethernet.cloned-mac-address "$mac"` + up,
		},
		{
			Name: "static4", Lab: onVLAN0(silent),
			Script: addProfile + `ipv4.method manual ipv4.addresses 192.0.2.50/24 ipv4.gateway 192.0.2.1 ipv4.dns 192.0.2.1 \
				ipv4.dns-search lab.example,corp.example ipv4.dns-options timeout:3 ipv4.route-metric 150 \
				ipv4.routes "10.99.0.0/16 192.0.2.2 50, 10.98.0.0/16 192.0.2.2 table=100, 10.97.0.0/16" \
				ipv4.routing-rules "priority 5000 from 10.98.0.0/16 table 100" \
				ethtool.feature-gro off connection.zone internal ipv6.method disabled` + up,
		},
		{Name: "dual", Lab: onVLAN0(dual), Script: addProfile + up, Ready: has4 + " && " + has6},
		{Name: "slaac", Lab: onVLAN0(slaac), Script: addProfile + `ipv4.method disabled` + up, Ready: has6},
		{
			Name:   "slaac-eui64",
			Lab:    onVLAN0(slaac),
			Script: addProfile + `ipv4.method disabled ipv6.addr-gen-mode eui64` + up,
			Ready:  has6,
		},
		{Name: "dhcpv6", Lab: onVLAN0(dhcpv6), Script: addProfile + `ipv4.method disabled` + up, Ready: has6},
		{Name: "dhcp-both", Lab: onVLAN0(both), Script: addProfile + up, Ready: has4 + " && " + has6},
		{
			Name: "static6", Lab: onVLAN0(silent), Ready: has6,
			Script: addProfile +
				`ipv4.method disabled ipv6.method manual ipv6.addresses 2001:db8:1::50/64 ipv6.gateway 2001:db8:1::1 \
				ipv6.dns 2001:db8:1::1 ipv6.dns-search lab.example ipv6.routes "2001:db8:99::/48 2001:db8:1::2 50"` + up,
		},
		{
			Name: "static-dual", Lab: onVLAN0(silent), Ready: has4 + " && " + has6,
			Script: addProfile +
				`ipv4.method manual ipv4.addresses "192.0.2.50/24,192.0.2.60/24" ipv4.gateway 192.0.2.1 ipv4.dns 192.0.2.1 \
				ipv6.method manual ipv6.addresses 2001:db8:1::50/64 ipv6.gateway fe80::1 ipv6.dns 2001:db8:1::1` + up,
		},
		{
			Name: "no-via", Lab: onVLAN0(silent),
			Script: addProfile +
				`ipv4.method manual ipv4.addresses 192.0.2.50/24 ipv4.routes 0.0.0.0/0 ipv4.dns 192.0.2.1 ipv6.method disabled` +
				up,
		},
		{
			Name: "jumbo", Lab: lab.Setup{MTU: 9000, Services: map[int]lab.Services{0: dhcp}},
			Script: addProfile + `802-3-ethernet.mtu 9000` + up,
		},
		{
			Name:   "jumbo-by-dhcp",
			Lab:    lab.Setup{MTU: 9000, Services: map[int]lab.Services{0: {DHCP: true, MTU: 9000}}},
			Script: addProfile + up,
		},
	}
}
