// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestChooseDNSPriority(t *testing.T) {
	device := func(name, server string) networkmanager.Device {
		d := networkmanager.Device{Name: name, Managed: true}
		if server != "" {
			d.IPv4.Nameservers = []netip.Addr{netip.MustParseAddr(server)}
		}
		return d
	}
	own, other, silent := device("eth0", "192.0.2.1"), device("eth1", "198.51.100.1"), device("eth1", "")
	for name, test := range map[string]struct {
		devices []networkmanager.Device
		routes  []hostnet.Route
		want    int32
	}{
		"alone": {[]networkmanager.Device{own, silent}, []hostnet.Route{route("eth0", 4, 100, "")}, 0},
		"the best": {
			[]networkmanager.Device{own, other},
			[]hostnet.Route{route("eth0", 4, 100, ""), route("eth1", 4, 101, "")},
			99,
		},
		"the best by IPv6": {
			[]networkmanager.Device{own, other},
			[]hostnet.Route{route("eth1", 4, 100, ""), route("eth0", 6, 100, "")},
			99,
		},
		"the second": {
			[]networkmanager.Device{own, other},
			[]hostnet.Route{route("eth0", 4, 101, ""), route("eth1", 4, 100, "")},
			101,
		},
		"without any route":  {[]networkmanager.Device{own, other}, nil, 101},
		"of another program": {[]networkmanager.Device{own, {Name: "eth1", IPv4: other.IPv4}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chooseDNSPriority(Facts{Devices: test.devices, Routes: test.routes}, "eth0"); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// The administrator's priority is kept.
func TestDNSPriorityOfProfileIsKept(t *testing.T) {
	nameserver := networkmanager.Device{
		Name:    "eth1",
		Managed: true,
		IPv4:    networkmanager.IP{Nameservers: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
	}
	for own, want := range map[int32]int32{0: 99, 50: 50, -5: -5} {
		original := networkmanager.Settings{}
		original.Set("ipv4", "method", "auto")
		if own != 0 {
			original.Set("ipv4", "dns-priority", own)
		}
		s := bridgeIPSettings(profileInputs{
			facts:    Facts{Devices: []networkmanager.Device{nameserver}, Routes: []hostnet.Route{{Link: "eth0", Family: 4}}},
			link:     hostnet.Link{Name: "eth0"},
			original: networkmanager.Profile{Settings: original},
		})
		if got := s.Int32("ipv4", "dns-priority"); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
