package networkmanager

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// What is kept of a profile has to come back with the same types: a metric as
// int64 is one to NetworkManager, as int32 it is an error.
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
		"802-3-ethernet": {
			"mac-address": dbus.MakeVariant([]byte{0x52, 0x54, 0, 1, 2, 3}), "s390-options": dbus.MakeVariant(map[string]string{"a": "b"}),
			"mtu": dbus.MakeVariant(uint32(9000)),
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

// flat makes settings comparable, types included.
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

// A value that could not be given back must not be taken for kept.
func TestSettingsJSONRefusesWhatItCannotKeep(t *testing.T) {
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
		"ipv4":       {"addresses": dbus.MakeVariant([][]uint32{}), "address-data": dbus.MakeVariant([]map[string]dbus.Variant{})},
		"ipv6":       {"addresses": dbus.MakeVariant([][]uint32{})},
	}.withoutLegacy()
	want := map[string]map[string]string{
		"connection": {"id": `s "a"`}, "ipv4": {"address-data": "aa{sv} @aa{sv} []"}, "ipv6": {"addresses": "aau @aau []"},
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

func TestSetIPv4(t *testing.T) {
	s := Settings{"ipv4": {"dns-data": dbus.MakeVariant([]string{"192.0.2.9"})}}
	s.SetIPv4(IPv4{
		Addresses:   []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")},
		Gateway:     netip.MustParseAddr("192.0.2.1"),
		Nameservers: []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")},
		Routes: []Route{
			{Destination: netip.MustParsePrefix("192.0.2.0/24")},
			{Destination: netip.MustParsePrefix("10.0.0.0/8"), Gateway: netip.MustParseAddr("192.0.2.3")},
		},
	})
	want := map[string]map[string]string{"ipv4": {
		"address-data": `aa{sv} [{"address": <"192.0.2.7">, "prefix": <@u 24>}]`,
		"gateway":      `s "192.0.2.1"`,
		"route-data":   `aa{sv} [{"dest": <"10.0.0.0">, "next-hop": <"192.0.2.3">, "prefix": <@u 8>}]`,
		"dns":          "au @au [33685696]", // 192.0.2.2 on a little-endian machine
	}}
	if diff := cmp.Diff(want, flat(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
