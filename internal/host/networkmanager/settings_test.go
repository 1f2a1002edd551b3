// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// Saved settings must be restored with the same types: NetworkManager accepts a
// metric as int64 and refuses it as int32.
func TestSettingsJSON(t *testing.T) {
	before := Settings{
		"connection": {
			"id": dbus.MakeVariant(`Wired "1" ümlaut \ back`), "autoconnect": dbus.MakeVariant(false),
			"autoconnect-priority": dbus.MakeVariant(int32(-999)), "permissions": dbus.MakeVariant([]string{}),
		},
		"ipv4": {
			"route-metric": dbus.MakeVariant(int64(48)),
			"dns":          dbus.MakeVariant([]uint32{16908480}),
			"address-data": dbus.MakeVariant([]map[string]dbus.Variant{
				{"address": dbus.MakeVariant("192.0.2.7"), "prefix": dbus.MakeVariant(uint32(24))},
			}),
			"route-data": dbus.MakeVariant([]map[string]dbus.Variant{}),
		},
		"ipv6": {"dns": dbus.MakeVariant([][]byte{{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53}})},
		"802-3-ethernet": {
			"mac-address":  dbus.MakeVariant([]byte{0x52, 0x54, 0, 1, 2, 3}),
			"s390-options": dbus.MakeVariant(map[string]string{"a": "b"}),
			"mtu":          dbus.MakeVariant(uint32(9000)),
		},
		"ovs-bridge": {},
	}
	content, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after Settings
	if err := json.Unmarshal(content, &after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flat(before), flat(after)); diff != "" {
		t.Errorf("not as before (-before +after):\n%s", diff)
	}
}

// flat returns comparable settings, including types.
func flat(s Settings) map[string]map[string]string {
	texts := map[string]map[string]string{}
	for name, section := range s {
		texts[name] = map[string]string{}
		for property, v := range section {
			texts[name][property] = v.Signature().String() + " " + v.String()
		}
	}
	return texts
}

// Encoding must fail for a value that could not be restored.
func TestSettingsJSONRefusesLossyValues(t *testing.T) {
	type struct2 struct {
		A string
		B uint32
	}
	s := Settings{"x": {"y": dbus.MakeVariant([]struct2{{"a", 1}})}}
	if content, err := json.Marshal(s); err == nil {
		t.Errorf("encoded a list of structures as %s", content)
	}
}

func TestWithoutLegacy(t *testing.T) {
	s := Settings{
		"connection": {"timestamp": dbus.MakeVariant(uint64(1)), "id": dbus.MakeVariant("a")},
		"ipv4": {
			"addresses": dbus.MakeVariant([][]uint32{}), "address-data": dbus.MakeVariant([]map[string]dbus.Variant{}),
			"dns": dbus.MakeVariant([]uint32{16908480}), "dns-data": dbus.MakeVariant([]string{"192.0.2.1#dns.corp.example"}),
		},
		"ipv6": {"addresses": dbus.MakeVariant([][]uint32{}), "dns": dbus.MakeVariant([][]byte{})}, // from an old version
	}.withoutLegacy()
	want := map[string]map[string]string{
		"connection": {"id": `s "a"`},
		"ipv4":       {"address-data": "aa{sv} @aa{sv} []", "dns-data": `as ["192.0.2.1#dns.corp.example"]`},
		"ipv6":       {"addresses": "aau @aau []", "dns": "aay @aay []"},
	}
	if diff := cmp.Diff(want, flat(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	s := Settings{}
	s.Set("connection", "id", "a")
	clone := s.Clone()
	clone.Set("connection", "id", "b")
	clone.Set("ipv4", "method", "auto")
	if s.Text("connection", "id") != "a" || s["ipv4"] != nil {
		t.Errorf("changing the clone changed the original: %v", s)
	}
}

func TestSetIP(t *testing.T) {
	prefix, address := netip.MustParsePrefix, netip.MustParseAddr
	s := Settings{
		"ipv4": {"dns-data": dbus.MakeVariant([]string{"192.0.2.9"})},
		"ipv6": {
			"dns-data": dbus.MakeVariant([]string{"2001:db8::9"}),
			"route-data": dbus.MakeVariant(
				[]map[string]dbus.Variant{{"dest": dbus.MakeVariant("2001:db8:1::"), "prefix": dbus.MakeVariant(uint32(48))}},
			),
		},
	}
	servers := []netip.Addr{address("192.0.2.2"), address("2001:db8::2")}
	s.SetIP(IPv4, IP{
		Addresses: []netip.Prefix{prefix("192.0.2.7/24")}, Gateway: address("192.0.2.1"), Nameservers: servers,
		Routes: []Route{{Destination: prefix("10.0.0.0/8"), Gateway: address("192.0.2.3"), Metric: 7, Table: 9}},
	})
	s.SetIP(IPv6, IP{
		Addresses: []netip.Prefix{prefix("2001:db8::7/128")}, Gateway: address("fe80::1"), Nameservers: servers,
		Routes: []Route{{Destination: prefix("2001:db8::/64")}},
	})
	want := map[string]map[string]string{
		"ipv4": {
			"address-data": `aa{sv} [{"address": <"192.0.2.7">, "prefix": <@u 24>}]`,
			"gateway":      `s "192.0.2.1"`,
			"route-data": `aa{sv} [{"dest": <"10.0.0.0">, "metric": <@u 7>, "next-hop": <"192.0.2.3">, "prefix": <@u ` +
				`8>, "table": <@u 9>}]`,
			"dns": "au @au [33685696]", // 192.0.2.2 on a little-endian machine
		},
		"ipv6": {
			"address-data": `aa{sv} [{"address": <"2001:db8::7">, "prefix": <@u 128>}]`,
			"gateway":      `s "fe80::1"`,
			"route-data": `aa{sv} [{"dest": <"2001:db8:1::">, "prefix": <@u 48>}, {"dest": <"2001:db8::">, "prefix": ` +
				`<@u 64>}]`,
			"dns": `aay @aay [[0x20, 0x1, 0xd, 0xb8, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x2]]`,
		},
	}
	if diff := cmp.Diff(want, flat(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Addresses(IPv6); len(got) != 1 || got[0] != prefix("2001:db8::7/128") {
		t.Errorf("it has %v", got)
	}
}
