// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// A router has responded, the DHCP server has not yet: the profile is activated.
func TestAwaitedLease(t *testing.T) {
	for name, test := range map[string]struct {
		method4 string
		change  func(*networkmanager.Device)
		want    string
	}{
		"IPv6 only so far": {"auto", nil, "a DHCP server to assign an IPv4 address to eth0"},
		"both":             {"auto", func(d *networkmanager.Device) { d.IPv4 = newIP(t, "192.0.2.7/24", "192.0.2.1") }, ""},
		"no IPv4":          {"disabled", nil, ""},
		"static":           {"manual", nil, ""},
	} {
		settings := networkmanager.Settings{}
		settings.Set("connection", "uuid", "u")
		settings.Set("ipv4", "method", test.method4)
		settings.Set("ipv6", "method", "auto")
		device := networkmanager.Device{
			Name: "eth0", Managed: true, Active: networkmanager.Active{UUID: "u", State: networkmanager.Activated},
			IPv6: newIP(t, "2001:db8:1:0:5054:ff:fea1:26b0/64", "fe80::1"),
		}
		if test.change != nil {
			test.change(&device)
		}
		facts := Facts{
			Devices: []networkmanager.Device{device}, Profiles: []networkmanager.Profile{{Settings: settings}},
			Links:  []hostnet.Link{link("eth0", 2, "2001:db8:1:0:5054:ff:fea1:26b0/64")},
			Routes: []hostnet.Route{{Link: "eth0", Family: 6, Metric: 100}},
		}
		if got := awaitedLease(facts, Options{}); got != test.want {
			t.Errorf("%s: awaits %q, want %q", name, got, test.want)
		}
	}
}
