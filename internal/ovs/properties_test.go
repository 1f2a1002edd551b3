// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
)

// translated lists the properties that the agent's profiles do not copy, with the reason. A section alone stands for
// all of its properties.
var translated = map[string]string{
	"match": "the profiles name their interface, or its MAC",

	"connection.id":                   "each profile has its own",
	"connection.uuid":                 "each profile has its own",
	"connection.type":                 "each profile has its own",
	"connection.interface-name":       "the uplink and br-ex",
	"connection.timestamp":            "not a setting",
	"connection.read-only":            "without meaning",
	"connection.multi-connect":        "a profile is for one interface",
	"connection.autoconnect":          "the profiles are activated at boot",
	"connection.autoconnect-priority": "higher than that of the original profile",
	"connection.autoconnect-retries":  "br-ex is retried forever",
	"connection.autoconnect-slaves":   "the bridge activates its ports",
	"connection.autoconnect-ports":    "the other name of autoconnect-slaves",
	"connection.master":               "the bridge",
	"connection.controller":           "the other name of master",
	"connection.slave-type":           "the bridge",
	"connection.port-type":            "the other name of slave-type",
	"connection.down-on-poweroff":     "Open vSwitch keeps the bridge",

	"802-3-ethernet.mac-address":               "the permanent MAC, if it identifies the interface",
	"802-3-ethernet.assigned-mac-address":      "the current MAC",
	"802-3-ethernet.cloned-mac-address":        "the current MAC",
	"802-3-ethernet.generate-mac-address-mask": "the current MAC",
	"802-3-ethernet.mtu":                       "the current MTU",

	"bond.interface-name": "the former name of connection.interface-name",
	"vlan.interface-name": "the former name of connection.interface-name",

	"ipv4.method":           "decides what is refused",
	"ipv6.method":           "decides what is refused",
	"ipv4.route-metric":     "that of br-ex",
	"ipv6.route-metric":     "that of br-ex",
	"ipv4.may-fail":         "false for the families in use",
	"ipv6.required-timeout": "the families in use are awaited",
	"ipv4.dhcp-client-id":   "the identifier that was sent",
	"ipv6.dhcp-duid":        "the identifier that was sent",
	"ipv6.dhcp-iaid":        "the identifier that was sent",
	"ipv6.addr-gen-mode":    "gives br-ex the same addresses",
	"ipv6.token":            "gives br-ex the same addresses",
}

// refusedSections lists the sections with which a profile is refused.
var refusedSections = map[string]bool{"802-1x": true}

// Every property of NetworkManager's settings is copied to one of the agent's profiles, translated, or refused.
func TestEveryPropertyIsCopiedOrRefused(t *testing.T) {
	used := map[string]bool{}
	for _, property := range readProperties(t) {
		section, name, signature := property[0], property[1], property[2]
		full, value := section+"."+name, sampleValue(t, property[2])
		for _, reason := range []string{section, full} {
			if translated[reason] != "" {
				used[reason] = true
				full = ""
			}
		}
		if full == "" || strings.Contains(signature, "(") { // the older form of address-data and route-data
			continue
		}
		for _, of := range []struct{ what, facts, profile string }{
			{"an uplink", "dhcp", "Wired connection 1"}, {"a bond", "bond", "bond0"}, {"a port", "bond", "m-nic0"},
		} {
			isPort := of.what == "a port"
			if isPort && !isCopiedOfPort(section, name) {
				continue
			}
			f := facts(t, of.facts)
			if !setProperty(f, of.profile, section, name, value) {
				t.Fatalf("the facts have no profile %s", of.profile)
			}
			migration, err := Plan(f, Options{})
			switch {
			case refusedSections[section] && err == nil:
				t.Errorf("%s of %s is neither copied nor refused", full, of.what)
			case refusedSections[section]:
			case err != nil:
				t.Errorf("%s of %s: %v", full, of.what, err)
			case !hasProperty(migration, isPort, section, name, value):
				t.Errorf("%s of %s is in no profile", full, of.what)
			}
		}
	}
	for reason := range translated {
		if !used[reason] {
			t.Errorf("NetworkManager has no %s", reason)
		}
	}
}

// isCopiedOfPort reports whether a property is meaningful for a port: it has no addresses.
func isCopiedOfPort(section, name string) bool {
	switch section {
	case "ipv4", "ipv6", "proxy", "hostname", "bond", "vlan":
		return false
	case "connection":
		return slices.Contains(nicProperties, name)
	}
	return true
}

func setProperty(f Facts, profile, section, name string, value any) bool {
	for i, p := range f.Profiles {
		if p.ID() == profile {
			f.Profiles[i].Settings = p.Settings.Clone()
			f.Profiles[i].Settings.Set(section, name, value)
			return true
		}
	}
	return false
}

func hasProperty(m Migration, isPort bool, section, name string, value any) bool {
	profiles := []networkmanager.Settings{m.Profiles.NIC, m.Profiles.BridgeIP}
	if isPort {
		profiles = m.Profiles.Members
	}
	want := dbus.MakeVariant(value).String()
	for _, profile := range profiles {
		if got, ok := profile[section][name]; ok && got.String() == want {
			return true
		}
	}
	return false
}

// readProperties returns the properties in testdata: section, name and D-Bus type.
func readProperties(t *testing.T) [][]string {
	t.Helper()
	content, err := os.ReadFile("testdata/properties.txt")
	if err != nil {
		t.Fatal(err)
	}
	var properties [][]string
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] != "#" {
			properties = append(properties, words)
		}
	}
	return properties
}

// sampleValue returns a value of a D-Bus type that no recorded profile has.
func sampleValue(t *testing.T, signature string) any {
	t.Helper()
	value, ok := map[string]any{
		"b": true, "i": int32(7), "u": uint32(7), "x": int64(7), "t": uint64(7), "s": "x", "as": []string{"x"},
		"ay": []byte{0xee}, "au": []uint32{7}, "aay": [][]byte{{0xee}}, "aau": [][]uint32{{7}},
		"a{ss}":  map[string]string{"x": "y"},
		"aa{sv}": []map[string]dbus.Variant{{"x": dbus.MakeVariant("y")}},
	}[signature]
	if !ok && !strings.Contains(signature, "(") {
		t.Fatalf("no value of the type %s", signature)
	}
	return value
}

// Until br-ex carries the traffic, no profile waits for what the migration interrupts.
func TestNoPropertyDelaysTheMigration(t *testing.T) {
	f := facts(t, "bond")
	for _, profile := range []string{"bond0", "m-nic0"} {
		for name, value := range map[string]any{
			"wait-activation-delay": int32(60000), "gateway-ping-timeout": uint32(600), "ip-ping-timeout": uint32(600),
			"ip-ping-addresses": []string{"192.0.2.1"}, "secondaries": []string{"11111111-2222-3333-4444-555555555555"},
		} {
			setProperty(f, profile, "connection", name, value)
		}
	}
	migration, err := Plan(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	staged := []networkmanager.Settings{migration.Staged.Static, migration.Staged.DHCP}
	for _, final := range migration.Profiles.List() {
		staged = append(staged, nmprofile.WithoutAutoconnect(final))
	}
	for _, s := range staged {
		for _, name := range []string{
			"wait-activation-delay", "gateway-ping-timeout", "ip-ping-timeout", "ip-ping-addresses", "secondaries",
		} {
			if value, ok := s["connection"][name]; ok {
				t.Errorf("%s has %s %s", s.Text("connection", "id"), name, value)
			}
		}
	}
}
