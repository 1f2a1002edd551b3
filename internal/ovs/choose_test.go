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

func route(link string, family, metric int, gateway string) hostnet.Route {
	r := hostnet.Route{Link: link, Family: family, Metric: metric}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

func TestChooseUplink(t *testing.T) {
	links := []hostnet.Link{
		link("eth0", 2, "192.0.2.7/24", "2001:db8::7/64"), link("eth1", 3, "198.51.100.7/24"),
		{Name: "eth10", AltNames: []string{"enp16s0", "enxfa163e000001"}},
		{Name: "veth1", Kind: "veth"},
		link("br-ex", 9, "203.0.113.7/24"), link("ovn-k8s-mp0", 10, "10.128.0.2/23"),
	}
	eth1 := []hostnet.Route{route("eth1", 4, 100, "198.51.100.1")}
	tests := map[string]struct {
		facts   Facts
		options Options
		want    string
		source  string
	}{
		"alternative name": {Facts{Routes: eth1}, Options{BridgeInterface: "enp16s0"}, "eth10", "--bridge-interface"},
		"alternative name in the file": {
			Facts{Routes: eth1, BridgeHint: "enxfa163e000001"}, Options{}, "eth10", "/etc/ovnk/default_bridge",
		},
		"default route": {Facts{Routes: eth1}, Options{}, "eth1", "the IPv4 default route"},
		"lowest metric": {
			Facts{Routes: []hostnet.Route{route("eth0", 4, 101, ""), route("eth1", 4, 100, "")}},
			Options{},
			"eth1",
			"the IPv4 default route",
		},
		"first of equals": {
			Facts{Routes: []hostnet.Route{route("eth10", 4, 0, ""), route("eth1", 4, 0, "")}},
			Options{},
			"eth10",
			"the IPv4 default route",
		},
		"IPv4 before IPv6": {
			Facts{Routes: []hostnet.Route{route("eth0", 6, 1, ""), route("eth1", 4, 100, "")}},
			Options{},
			"eth1",
			"the IPv4 default route",
		},
		"IPv6 alone": {
			Facts{Routes: []hostnet.Route{route("eth0", 6, 1024, "")}},
			Options{},
			"eth0",
			"the IPv6 default route",
		},
		"what pods have": {
			Facts{
				Routes: append(
					[]hostnet.Route{route("veth1", 4, 1, ""), route("ovn-k8s-mp0", 4, 2, ""), route("br-ex", 4, 3, "")},
					eth1...),
			},
			Options{},
			"eth1",
			"the IPv4 default route",
		},
		"file over the route": {
			Facts{BridgeHint: "eth10", Routes: eth1},
			Options{},
			"eth10",
			"/etc/ovnk/default_bridge",
		},
		"option over all": {
			Facts{BridgeHint: "eth10", PrimaryIP: "192.0.2.7", Routes: eth1},
			Options{BridgeInterface: "eth0"},
			"eth0",
			"--bridge-interface",
		},
		"the node's address": {
			Facts{PrimaryIP: "192.0.2.7", NodeIPHint: "198.51.100.9", SavedUplink: "eth1", Routes: eth1},
			Options{},
			"eth0",
			"/run/nodeip-configuration/primary-ip",
		},
		"the node's IPv6 address": {
			Facts{PrimaryIP: "2001:db8::7", Routes: eth1},
			Options{},
			"eth0",
			"/run/nodeip-configuration/primary-ip",
		},
		"that of br-ex": {
			Facts{PrimaryIP: "203.0.113.7", Routes: eth1},
			Options{},
			"eth1",
			"the IPv4 default route",
		},
		"hint for the address": {
			Facts{NodeIPHint: "192.0.2.99", Routes: eth1},
			Options{},
			"eth0",
			"NODEIP_HINT in /etc/default/nodeip-configuration",
		},
		"hint for nothing": {
			Facts{NodeIPHint: "10.9.9.9", Routes: eth1},
			Options{},
			"eth1",
			"the IPv4 default route",
		},
		"remembered": {
			Facts{SavedUplink: "eth0", Routes: append([]hostnet.Route{route("eth0", 4, 101, "")}, eth1...)},
			Options{},
			"eth0",
			"/var/lib/ovnk/iface_default_hint",
		},
		"remembered by IPv6": {
			Facts{SavedUplink: "eth0", Routes: append([]hostnet.Route{route("eth0", 6, 101, "")}, eth1...)},
			Options{},
			"eth0",
			"/var/lib/ovnk/iface_default_hint",
		},
		"remembered without routes": {Facts{SavedUplink: "eth0", Routes: eth1}, Options{}, "eth1", "the IPv4 default route"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.facts.Links = links
			got, err := chooseUplink(test.facts, test.options)
			if err != nil || got.name != test.want || got.source != test.source {
				t.Errorf("chose %q by %s, %v; want %q by %s", got.name, got.source, err, test.want, test.source)
			}
		})
	}
}

// br-ex must win over every other default route, and NetworkManager uses the
// metric of its profile.
func TestChooseMetric(t *testing.T) {
	own := route("eth0", 4, 20, "192.0.2.1")
	tests := map[string]struct {
		routes []hostnet.Route
		want   int64
	}{
		"alone":                     {[]hostnet.Route{own}, 48},
		"worse ones":                {[]hostnet.Route{own, route("eth1", 4, 101, "")}, 48},
		"one that would win":        {[]hostnet.Route{own, route("eth1", 4, 40, "")}, 39},
		"one as good":               {[]hostnet.Route{own, route("eth1", 4, 48, "")}, 47},
		"of the other family":       {[]hostnet.Route{own, route("eth1", 6, 10, "")}, 48},
		"none of its own":           {[]hostnet.Route{route("eth1", 4, 10, "")}, 48},
		"br-ex that is left over":   {[]hostnet.Route{own, route("br-ex", 4, 10, "")}, 48},
		"the best cannot be beaten": {[]hostnet.Route{own, route("eth1", 4, 0, "")}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := chooseMetric(Facts{Routes: test.routes}, "eth0", 4)
			if got != test.want || (err != nil) != (test.want == 0) {
				t.Errorf("%d, %v; want %d", got, err, test.want)
			}
		})
	}
}

func TestChooseAutoconnectPriority(t *testing.T) {
	profile := func(id, kind, device string, priority int32) networkmanager.Profile {
		s := networkmanager.Settings{}
		s.Set("connection", "id", id)
		s.Set("connection", "uuid", "uuid of "+id)
		s.Set("connection", "type", kind)
		if device != "" {
			s.Set("connection", "interface-name", device)
		}
		s.Set("connection", "autoconnect-priority", priority)
		return networkmanager.Profile{Settings: s}
	}
	tests := map[string]struct {
		profiles []networkmanager.Profile
		want     int32
	}{
		"none":                    {nil, 100},
		"created automatically":   {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth0", -999)}, 100},
		"higher than usual":       {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth0", 150)}, 151},
		"for any interface":       {[]networkmanager.Profile{profile("a", "802-3-ethernet", "", 200)}, 201},
		"for another interface":   {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth1", 200)}, 100},
		"of another kind":         {[]networkmanager.Profile{profile("a", "vlan", "", 200)}, 100},
		"highest, but not for us": {[]networkmanager.Profile{profile("a", "802-3-ethernet", "eth1", 999)}, 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := chooseAutoconnectPriority(Facts{Profiles: test.profiles}, "eth0", "802-3-ethernet")
			if err != nil || got != test.want {
				t.Errorf("%d, %v; want %d", got, err, test.want)
			}
		})
	}
}

func TestOverriddenRouteNotes(t *testing.T) {
	metrics := map[networkmanager.Family]int64{networkmanager.IPv4: 48, networkmanager.IPv6: 47}
	eth0, eth1 := route("eth0", 4, 100, ""), route("eth1", 4, 101, "")
	for name, test := range map[string]struct {
		routes []hostnet.Route
		uplink string
		want   []string
	}{
		"the best": {[]hostnet.Route{eth0, eth1}, "eth0", nil},
		"the second": {
			[]hostnet.Route{eth0, eth1},
			"eth1",
			[]string{"the preferred IPv4 default route is over eth0 (metric 100) and not over eth1 (101); after " +
				"the change it is over br-ex (48), as on image-mode nodes"},
		},
		"as good":         {[]hostnet.Route{eth0, route("eth1", 4, 100, "")}, "eth1", nil},
		"none of its own": {[]hostnet.Route{eth0}, "eth1", nil},
		"of IPv6 only": {
			[]hostnet.Route{eth1, route("eth0", 6, 1, ""), route("eth1", 6, 2, "")},
			"eth1",
			[]string{"the preferred IPv6 default route is over eth0 (metric 1) and not over eth1 (2); after " +
				"the change it is over br-ex (47), as on image-mode nodes"},
		},
		"no route for now": {nil, "eth1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := overriddenRouteNotes(Facts{Routes: test.routes}, test.uplink, metrics); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The node IP is decided before br-ex is made. A hint for another site has no effect.
func TestNodeIPIsDecidedBeforeTheMigration(t *testing.T) {
	f := facts(t, "dhcp")
	f.NodeIPHint = "10.40.0.1"
	migration, err := Plan(f, Options{})
	if err != nil || !strings.Contains(strings.Join(migration.Notes, "\n"), `NODEIP_HINT "10.40.0.1" is in no subnet`) {
		t.Errorf("%v: %q", err, migration.Notes)
	}
	f.NodeIPHint = "10.40.0.0/24"
	if migration, err = Plan(f, Options{}); err != nil ||
		!strings.Contains(strings.Join(migration.Notes, "\n"), `NODEIP_HINT "10.40.0.0/24" is no IP address`) {
		t.Errorf("%v: %q", err, migration.Notes)
	}
	f.NodeIPHint = f.Links[slices.IndexFunc(f.Links, func(l hostnet.Link) bool { return l.Name == "eth0" })].
		Addresses[0].Addr().String()
	if migration, err = Plan(f, Options{}); err != nil || len(migration.Notes) > 0 {
		t.Errorf("%v: %q", err, migration.Notes)
	}
}
