// SPDX-License-Identifier: Apache-2.0

package firewalld

import (
	"maps"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
)

// The settings have the keys and types that firewalld 1.3.3 returns.
func TestReadZone(t *testing.T) {
	bustest.Start(t)
	if _, err := ReadZone(t.Context(), "eth0"); err == nil {
		t.Error("no error without firewalld")
	}
	type (
		values = map[string]dbus.Variant
		port   struct{ Range, Network string }
	)
	variants := func(list map[string]any) values {
		all := values{}
		for name, value := range list {
			all[name] = dbus.MakeVariant(value)
		}
		return all
	}
	zones := map[string]values{
		"public": variants(map[string]any{
			"target":   "default",
			"ports":    []port{{"6081", "udp"}},
			"services": []string{"ssh", "nested"},
			"forward":  true,
		}),
		"trusted": variants(map[string]any{"target": "ACCEPT", "services": []string{}}),
	}
	services := map[string]values{
		"ssh": variants(map[string]any{"short": "SSH", "ports": []port{{"22", "tcp"}}}),
		"nested": variants(map[string]any{
			"ports":    []port{{"", "igmp"}},
			"includes": []string{"kubelet-worker", "nested"},
		}),
		"kubelet-worker": variants(map[string]any{"ports": []port{{"10250", "tcp"}, {"30000-32767", "tcp"}}}),
	}
	settingsOf := func(known map[string]values) func(string) (values, *dbus.Error) {
		return func(name string) (values, *dbus.Error) {
			if known[name] == nil {
				return nil, dbus.NewError("org.fedoraproject.FirewallD1.Exception", []any{"INVALID: " + name})
			}
			return maps.Clone(known[name]), nil
		}
	}
	server := bustest.Own(t, service)
	for name, methods := range map[string]map[string]any{
		service: {
			"getDefaultZone":      func() (string, *dbus.Error) { return "public", nil },
			"getServiceSettings2": settingsOf(services),
		},
		zoneInterface: {
			"getZoneOfInterface": func(link string) (string, *dbus.Error) {
				return map[string]string{"eth1": "trusted", "eth2": "gone"}[link], nil
			},
			"getZoneSettings2": settingsOf(zones),
		},
	} {
		if err := server.ExportMethodTable(methods, objectPath, name); err != nil {
			t.Fatal(err)
		}
	}
	for link, want := range map[string]Zone{
		"eth0": {
			Name:      "public",
			Default:   "public",
			Interface: "eth0",
			Open:      []Ports{{"udp", 6081, 6081}, {"tcp", 22, 22}, {"tcp", 10250, 10250}, {"tcp", 30000, 32767}},
		},
		"eth1": {Name: "trusted", Default: "public", Interface: "eth1", AcceptAll: true},
	} {
		got, err := ReadZone(t.Context(), link)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if _, err := ReadZone(t.Context(), "eth2"); err == nil {
		t.Error("no error for an unknown zone")
	}
}

func TestZoneAllows(t *testing.T) {
	var zone Zone
	for _, port := range []struct{ text, network string }{
		{"10250", "tcp"},
		{"30000-32767", "tcp"},
		{"6081", "udp"},
		{"", "igmp"},
	} {
		if parsed, ok := ParsePorts(port.text, port.network); ok {
			zone.Open = append(zone.Open, parsed)
		}
	}
	for _, test := range []struct {
		network string
		port    int
		want    bool
	}{
		{"tcp", 10250, true},
		{"udp", 10250, false},
		{"tcp", 10251, false},
		{"tcp", 29999, false},
		{"tcp", 30000, true},
		{"tcp", 32767, true},
		{"tcp", 32768, false},
		{"udp", 6081, true},
	} {
		if got := zone.Allows(test.network, test.port); got != test.want {
			t.Errorf("%s/%d: %t, want %t", test.network, test.port, got, test.want)
		}
	}
	if !(Zone{AcceptAll: true}).Allows("udp", 1) {
		t.Error("a zone that accepts all packets does not allow a port")
	}
}
