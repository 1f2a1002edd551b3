// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/test/nmtest"
)

// Addresses that OVN-Kubernetes has added to br-ex are neither restored on the
// uplink nor reported as missing. A link-local address of the administrator is
// restored.
func TestMasqueradeAddressesAreIgnored(t *testing.T) {
	bridge := link("br-ex", 9, "192.0.2.7/24", "2001:db8::7/64", "fd69::2/112") // without link-local ones
	bridge.Transient = []netip.Addr{netip.MustParseAddr("fd69::2")}             // as with newer OVN-Kubernetes
	device := networkmanager.Device{
		Name: "br-ex", Type: networkmanager.OVSInterface,
		IPv4: nmtest.NewIP(t, "192.0.2.7/24 169.254.200.1/16 169.254.0.2/17", "192.0.2.1",
			"0.0.0.0/0 via 192.0.2.1", "172.30.0.0/16 via 169.254.0.4", "169.254.0.1/32", "10.0.0.0/8 via 169.254.200.9"),
		IPv6: nmtest.NewIP(t, "2001:db8::7/64", "fe80::1", "::/0 via fe80::1", "fd02::/112 via fd69::4", "fd69::1/128",
			"fd69:1::/64 via 2001:db8::9"),
	}
	device.IPv6.Nameservers = []netip.Addr{netip.MustParseAddr("2001:db8::53")}
	facts := Facts{
		Links: append(facts(t, "dhcp").Links, bridge), Devices: []networkmanager.Device{device},
	}
	facts.Routes = append(facts.Routes, route("br-ex", 4, 48, "192.0.2.1"), route("br-ex", 6, 48, "fe80::1"))

	now := IPStateOf(facts, bridge, device)
	for family, want := range map[networkmanager.Family][]string{
		networkmanager.IPv4: {"169.254.200.1/16", "192.0.2.7/24", "0.0.0.0/0", "10.0.0.0/8"},
		networkmanager.IPv6: {"2001:db8::7/64", "::/0", "fd69:1::/64"},
	} {
		var got []string
		for _, address := range now[family].Addresses {
			got = append(got, address.String())
		}
		for _, route := range now[family].Routes {
			got = append(got, route.Destination.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", family, diff)
		}
	}

	facts.Links[len(facts.Links)-1].Transient = nil // as with older OVN-Kubernetes
	carried := AddressStateOf(facts, "br-ex")
	if want := []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}; !slices.Equal(
		carried.Addresses, want,
	) {
		t.Errorf("peers know the host by %v, want %v", carried.Addresses, want)
	}
	if missing := carried.Missing(facts, "br-ex"); missing != "" {
		t.Errorf("it lacks what it has: %s", missing)
	}
}
