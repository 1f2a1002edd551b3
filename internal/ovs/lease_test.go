// SPDX-License-Identifier: Apache-2.0

package ovs

import (
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
