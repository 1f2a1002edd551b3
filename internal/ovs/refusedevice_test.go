// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestRefuseDevice(t *testing.T) {
	active := networkmanager.Active{UUID: "u", State: networkmanager.Activated}
	ofType := func(kind networkmanager.DeviceType) networkmanager.Device {
		return networkmanager.Device{Name: "up0", Type: kind, Managed: true, Active: active}
	}
	plain := hostnet.Link{Name: "up0", Index: 2, Kind: "device"}
	inside := hostnet.Link{Name: "up0", Index: 2, Master: 9}
	infiniBand := plain
	infiniBand.MAC = "80:00:01:de:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e7:0f:8f"
	tests := map[string]struct {
		facts   Facts
		link    hostnet.Link
		device  networkmanager.Device
		message string // "": accepted
		remedy  string
	}{
		"Ethernet": {link: plain, device: ofType(networkmanager.Ethernet)},
		"veth":     {link: plain, device: ofType(networkmanager.Veth)},
		"VLAN":     {link: plain, device: ofType(networkmanager.VLAN)},
		"bond":     {link: plain, device: ofType(networkmanager.Bond)},
		"WiFi":     {link: plain, device: ofType(networkmanager.WiFi), message: "wireless", remedy: "--bridge-interface"},
		"InfiniBand": {
			link:    plain,
			device:  ofType(networkmanager.InfiniBand),
			message: "InfiniBand",
			remedy:  "--bridge-interface",
		},
		"bond of InfiniBand ports": {
			link: infiniBand, device: ofType(networkmanager.Bond), message: "InfiniBand", remedy: "--bridge-interface",
		},
		"VLAN over InfiniBand": {
			link: infiniBand, device: ofType(networkmanager.VLAN), message: "InfiniBand", remedy: "--bridge-interface",
		},
		"bridge": {
			link:    plain,
			device:  ofType(networkmanager.Bridge),
			message: "a Linux bridge",
			remedy:  "bridge link show",
		},
		"team": {
			link:    plain,
			device:  ofType(networkmanager.Team),
			message: "convert it to a bond first",
			remedy:  "team2bond",
		},
		"macvlan": {
			link:    plain,
			device:  ofType(networkmanager.MACVLAN),
			message: "macvlan",
			remedy:  "ip -d link show up0",
		},
		"tun": {link: plain, device: ofType(networkmanager.TUN), message: "a tunnel", remedy: "--bridge-interface"},
		"WireGuard": {
			link:    plain,
			device:  ofType(networkmanager.WireGuard),
			message: "a tunnel",
			remedy:  "--bridge-interface",
		},
		"dummy": {
			link:    plain,
			device:  ofType(networkmanager.Dummy),
			message: "no network connection",
			remedy:  "--bridge-interface",
		},
		"ppp": {
			link:    plain,
			device:  ofType(networkmanager.PPP),
			message: "point-to-point",
			remedy:  "--bridge-interface",
		},
		"ppp of DSL": {
			link:    hostnet.Link{Name: "ppp0", Kind: "ppp"},
			message: "ppp0 is a point-to-point",
			remedy:  "--bridge-interface",
		},
		"another":     {link: plain, device: ofType(27), message: "type 27", remedy: "--bridge-interface"},
		"not managed": {link: plain, message: "does not manage the uplink up0", remedy: "nmcli device set up0 managed yes"},
		"in a bridge": {
			facts: Facts{Links: []hostnet.Link{{Name: "br0", Index: 9, Kind: "bridge"}}}, link: inside,
			device: ofType(networkmanager.Ethernet), message: "a port of br0", remedy: "ip -d link show up0",
		},
		"below a macvtap interface": {
			facts: Facts{Links: []hostnet.Link{{Name: "macvtap0", Index: 9, Kind: "macvtap", Parent: 2}}}, link: plain,
			device: ofType(networkmanager.Ethernet), message: "macvtap0 is above", remedy: "ip -d link show macvtap0",
		},
		"below a VLAN": {
			facts: Facts{Links: []hostnet.Link{
				{Name: "up0.5", Index: 9, Kind: "vlan", Parent: 2}, {Name: "lab", Index: 10, Kind: "macvlan", Parent: 9},
			}}, link: plain, device: ofType(networkmanager.Ethernet),
		},
		"in a VRF": {
			facts: Facts{Links: []hostnet.Link{{Name: "red", Index: 9, Kind: "vrf"}}}, link: inside,
			device: ofType(networkmanager.Ethernet), message: "in the VRF red", remedy: "--bridge-interface",
		},
		"in something in another namespace": {
			link:    inside,
			device:  ofType(networkmanager.Ethernet),
			message: "a port of another interface",
			remedy:  "ip -d",
		},
		"waiting for DHCP": {
			link: plain,
			device: networkmanager.Device{
				Type:    networkmanager.Ethernet,
				Managed: true,
				Active:  networkmanager.Active{UUID: "u", State: networkmanager.Activating},
			},
			message: "still being activated", remedy: "grep -q ip_address && nmcli device reapply up0",
		},
		"no profile": {
			link: plain, device: networkmanager.Device{Type: networkmanager.Ethernet, Managed: true},
			message: "no active NetworkManager profile", remedy: "nmcli device connect up0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := refuseDevice(test.facts, test.link, test.device)
			if test.message == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.message) {
				t.Errorf("says %v, want it to refuse and say %q", err, test.message)
			}
			if !strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("remedy %q, want %q", report.RemedyOf(err), test.remedy)
			}
		})
	}
}

// The safeguards are shell scripts that contain the names of the interfaces.
func TestRefuseName(t *testing.T) {
	for _, name := range []string{"eth0", "enp0s31f6", "bond0.100", "vlan-x", "a_b", "eth0:1"} {
		if err := refuseName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"e$0", "e'0", `e"0`, "e*", "e 0", "e;0", "-e", "e\\0",
		"e%i", "e`0", "e|0", "é0", "e&0",
	} {
		if refuseName(name) == nil {
			t.Errorf("%q was let through", name)
		}
	}
}
