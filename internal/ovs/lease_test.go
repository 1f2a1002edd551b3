// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// One family has an address, the other has not yet: the profile is activated.
func TestAwaitedLease(t *testing.T) {
	const fromRouter = "a router or a DHCP server to assign an IPv6 address to eth0"
	const four, six = "192.0.2.7/24", "2001:db8:1:0:5054:ff:fea1:26b0/64"
	for name, test := range map[string]struct {
		method4, method6 string
		addresses        []string
		isIPv6           bool // the cluster has IPv6
		want             string
	}{
		"IPv6 only so far":    {"auto", "auto", []string{six}, false, "a DHCP server to assign an IPv4 address to eth0"},
		"both":                {"auto", "auto", []string{four, six}, true, ""},
		"no IPv4":             {"disabled", "auto", []string{six}, true, ""},
		"duplicates checked":  {"manual", "auto", []string{six}, false, "the IPv4 address in the profile of eth0"},
		"no router":           {"auto", "auto", []string{four}, false, ""},
		"router later":        {"auto", "auto", []string{four}, true, fromRouter},
		"no IPv6":             {"auto", "link-local", []string{four}, true, ""},
		"static IPv6 later":   {"auto", "manual", []string{four}, false, "the IPv6 address in the profile of eth0"},
		"DHCPv6 server later": {"auto", "dhcp", []string{four}, false, fromRouter},
	} {
		settings := networkmanager.Settings{}
		settings.Set("connection", "uuid", "u")
		settings.Set("ipv4", "method", test.method4)
		settings.Set("ipv6", "method", test.method6)
		facts := Facts{
			Devices: []networkmanager.Device{{
				Name: "eth0", Managed: true, Active: networkmanager.Active{UUID: "u", State: networkmanager.Activated},
			}},
			Profiles: []networkmanager.Profile{{Settings: settings}},
			Links:    []hostnet.Link{link("eth0", 2, test.addresses...)},
			Routes:   []hostnet.Route{{Link: "eth0", Family: 6, Metric: 100}}, NodeIPv6: test.isIPv6,
		}
		if got := awaitedLease(facts, Options{}); got != test.want {
			t.Errorf("%s: awaits %q, want %q", name, got, test.want)
		}
	}
}

// The DHCP server of the uplink is late, and another interface, or a static address, has been configured before.
func TestAwaitedLeaseBeside(t *testing.T) {
	const awaited = "a DHCP server to assign an IPv4 address to eth0"
	const six = "2001:db8:1:0:5054:ff:fea1:26b0/64"
	dynamic, disabled, static := networkmanager.Settings{}, networkmanager.Settings{}, networkmanager.Settings{}
	for uuid, settings := range map[string]networkmanager.Settings{"d": dynamic, "n": disabled, "s": static} {
		settings.Set("connection", "uuid", uuid)
		settings.Set("ipv4", "method", "auto")
		settings.Set("ipv6", "method", "auto")
	}
	disabled.Set("ipv4", "method", "disabled")
	static.SetIP(networkmanager.IPv4, networkmanager.IP{
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/24")},
	})
	four, sixth := hostnet.Route{Link: "eth1", Family: 4, Metric: 101}, hostnet.Route{Link: "eth1", Family: 6, Metric: 101}
	own := hostnet.Route{Link: "eth0", Family: 6, Metric: 100}
	for name, test := range map[string]struct {
		eth0, eth1 string // UUIDs of the profiles
		links      []hostnet.Link
		routes     []hostnet.Route
		isFirst    bool // IPv6 is the first family
		want       string
	}{
		"IPv6 over another interface": {
			"d", "n", []hostnet.Link{link("eth0", 2), link("eth1", 3, six)}, []hostnet.Route{sixth}, false, awaited,
		},
		"IPv6 over another interface, IPv6 first": {
			"d", "n", []hostnet.Link{link("eth0", 2), link("eth1", 3, six)}, []hostnet.Route{sixth}, true, "",
		},
		"IPv4 over another interface": {
			"d", "n", []hostnet.Link{link("eth0", 2), link("eth1", 3, "192.0.2.7/24")}, []hostnet.Route{four}, false, "",
		},
		"a pod": {
			"n", "d", []hostnet.Link{link("eth0", 2, six), link("cni0", 3)}, []hostnet.Route{own}, false, "",
		},
		"a static address beside DHCP": {
			"s", "", []hostnet.Link{link("eth0", 2, six, "198.51.100.7/24")}, []hostnet.Route{own}, false, awaited,
		},
		"a static address and a lease": {
			"s", "", []hostnet.Link{link("eth0", 2, six, "198.51.100.7/24", "192.0.2.7/24")}, []hostnet.Route{own}, false, "",
		},
	} {
		facts := Facts{
			Profiles: []networkmanager.Profile{{Settings: dynamic}, {Settings: disabled}, {Settings: static}},
			Links:    test.links, Routes: test.routes, NodeIPv6First: test.isFirst,
		}
		for i, uuid := range []string{test.eth0, test.eth1} {
			if uuid != "" {
				facts.Devices = append(facts.Devices, networkmanager.Device{
					Name: test.links[i].Name, Managed: true,
					Active: networkmanager.Active{UUID: uuid, State: networkmanager.Activated},
				})
			}
		}
		if got := awaitedLease(facts, Options{}); got != test.want {
			t.Errorf("%s: awaits %q, want %q", name, got, test.want)
		}
	}
}
