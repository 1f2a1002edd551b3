// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// The addresses on br-ex must be those of the NIC, regardless of what their
// identity was derived from.
func TestIdentify(t *testing.T) {
	const mac = "52:54:00:a1:26:b0"
	leased := func(name, address string) networkmanager.IP {
		return networkmanager.IP{DHCP: map[string]string{name: address}}
	}
	tests := map[string]struct {
		addresses, temporary, permanent []string
		device                          networkmanager.Device
		method                          string // of IPv6; default auto
		static                          string // an address that the profile has
		token                           string
		eui64                           bool
		beside                          []string
		refused                         string
	}{
		"no IPv6": {
			addresses: []string{"192.0.2.7/24"},
			device:    networkmanager.Device{IPv4: leased("ip_address", "192.0.2.7")},
		},
		"hashed": {
			addresses: []string{"2001:db8::a1b2:c3d4:e5f6:718/64"},
			eui64:     true,
			token:     "::a1b2:c3d4:e5f6:718",
		},
		"from the MAC": {addresses: []string{"2001:db8::5054:ff:fea1:26b0/64"}, eui64: true},
		"never expires": {
			addresses: []string{"2001:db8::1:2:3:4/64"},
			permanent: []string{"2001:db8::1:2:3:4"},
			eui64:     true,
			token:     "::1:2:3:4",
		},
		"one host, two prefixes": {
			addresses: []string{"2001:db8::5054:ff:fea1:26b0/64", "fd00::5054:ff:fea1:26b0/64"},
			eui64:     true,
		},
		"a temporary one goes": {
			addresses: []string{"2001:db8::1:2:3:4/64", "2001:db8::5054:ff:fea1:26b0/64"},
			temporary: []string{"2001:db8::1:2:3:4"},
			eui64:     true,
		},
		"hashed for each of two": {
			addresses: []string{"2001:db8::1:2:3:4/64", "fd00::5:6:7:8/64"},
			eui64:     true,
			token:     "::1:2:3:4",
			beside:    []string{"fd00::5:6:7:8/64"},
		},
		"hashed, and one set by hand": {
			addresses: []string{"2001:db8::1:2:3:4/64", "2001:db8::9/64"},
			permanent: []string{"2001:db8::9"},
			refused:   "2001:db8::9/64",
		},
		"in the profile beside": {
			addresses: []string{"2001:db8::1:2:3:4/64", "2001:db8::9/64"},
			permanent: []string{"2001:db8::9"},
			static:    "2001:db8::9/64",
			eui64:     true, token: "::1:2:3:4",
		},
		"from DHCPv6": {
			addresses: []string{"2001:db8::7/128"},
			device:    networkmanager.Device{IPv6: leased("ip6_address", "2001:db8::7")},
		},
		"from DHCPv6 and a router": {
			addresses: []string{"2001:db8::7/128", "2001:db8::5054:ff:fea1:26b0/64"},
			device:    networkmanager.Device{IPv6: leased("ip6_address", "2001:db8::7")},
			eui64:     true,
		},
		"two from DHCPv6": {
			addresses: []string{"2001:db8::7/128", "2001:db8::8/128"},
			device:    networkmanager.Device{IPv6: leased("ip6_address", "2001:db8::7 2001:db8::8")},
		},
		"of another program": {addresses: []string{"2001:db8::7/128"}, refused: "2001:db8::7/128"},
		"IPv4 of another program": {
			addresses: []string{"192.0.2.7/24", "192.0.2.250/32"},
			device:    networkmanager.Device{IPv4: leased("ip_address", "192.0.2.7")},
			refused:   "192.0.2.250/32",
		},
		"IPv4, and no DHCP server": {addresses: []string{"192.0.2.7/24"}, refused: "still being activated"},
		"static":                   {addresses: []string{"2001:db8::7/64"}, method: "manual", static: "2001:db8::7/64"},
		"of another program on static": {
			addresses: []string{"2001:db8::7/64", "2001:db8::9/64"},
			method:    "manual",
			static:    "2001:db8::7/64",
			refused:   "2001:db8::9/64",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			link := hostnet.Link{Name: "eth0", MAC: mac}
			for _, address := range test.addresses {
				link.Addresses = append(link.Addresses, netip.MustParsePrefix(address))
			}
			for _, address := range test.temporary {
				link.Transient = append(link.Transient, netip.MustParseAddr(address))
			}
			for _, address := range test.permanent {
				link.Permanent = append(link.Permanent, netip.MustParseAddr(address))
			}
			original := networkmanager.Settings{}
			original.Set("ipv4", "method", "auto")
			original.Set("ipv6", "method", "auto")
			if test.method != "" {
				original.Set("ipv6", "method", test.method)
			}
			if test.static != "" {
				original.SetIP(networkmanager.IPv6,
					networkmanager.IP{Addresses: []netip.Prefix{netip.MustParsePrefix(test.static)}})
			}
			got, err := identify(link, test.device, original)
			if (err != nil) != (test.refused != "") {
				t.Fatalf("error %v, want one: %q", err, test.refused)
			}
			if err != nil {
				if !strings.Contains(err.Error(), test.refused) {
					t.Errorf("says %v, want %s", err, test.refused)
				}
				return
			}
			var beside []string
			for _, prefix := range got.extraAddresses {
				beside = append(beside, prefix.String())
			}
			if got.token != test.token || got.eui64 != test.eui64 || !slices.Equal(beside, test.beside) {
				t.Errorf("%+v, want token %q, eui64 %t, beside %v", got, test.token, test.eui64, test.beside)
			}
		})
	}
}

// DHCPv6 servers identify a host by the identity that it has sent, which
// NetworkManager derives from the lease, the machine or the interface's name.
func TestIdentityForDHCP(t *testing.T) {
	device := networkmanager.Device{
		IPv4: networkmanager.IP{DHCP: map[string]string{"dhcp_client_identifier": "01:52:54:00:a1:26:b0"}},
		IPv6: networkmanager.IP{DHCP: map[string]string{"dhcp6_client_id": "00:04:0b:7a", "iaid": "e8:0d:fe:0a"}},
	}
	i, err := identify(hostnet.Link{}, device, networkmanager.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	s := networkmanager.Settings{}
	i.apply(s)
	for _, want := range []struct{ section, name, text string }{
		{"ipv4", "dhcp-client-id", "01:52:54:00:a1:26:b0"},
		{"ipv6", "dhcp-duid", "00:04:0b:7a"},
		{"ipv6", "dhcp-iaid", "3893231114"},
	} {
		if got := s.Text(want.section, want.name); got != want.text {
			t.Errorf("%s.%s is %q, want %q", want.section, want.name, got, want.text)
		}
	}
}
