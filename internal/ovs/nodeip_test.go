package ovs

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func link(name string, index int, addresses ...string) host.Link {
	l := host.Link{Name: name, Index: index}
	for _, address := range addresses {
		l.Addresses = append(l.Addresses, netip.MustParsePrefix(address))
	}
	return l
}

func TestNodeIP(t *testing.T) {
	leased := link("br-ex", 9, "2001:db8::7/128") // by DHCPv6
	leased.Advertised = []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")}
	aging := link("br-ex", 9, "2001:db8:1::7/64", "2001:db8:2::7/64")
	aging.Passing = []netip.Addr{netip.MustParseAddr("2001:db8:1::7")}
	br, other := link("br-ex", 9, "192.0.2.7/24"), link("eth1", 3, "10.0.0.7/8")
	tests := map[string]struct {
		links  []host.Link
		routes []host.Route
		hint   string
		want   []string
	}{
		"the link of the default route": {
			links: []host.Link{other, br}, routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1")}, want: []string{"192.0.2.7"},
		},
		"the lower metric": {
			links: []host.Link{other, br}, want: []string{"192.0.2.7"},
			routes: []host.Route{route("eth1", 4, 100, "10.0.0.1"), route("br-ex", 4, 48, "192.0.2.1")},
		},
		"the lower index at the same metric": {
			links: []host.Link{br, other}, want: []string{"10.0.0.7"},
			routes: []host.Route{route("eth1", 4, 0, "10.0.0.1"), route("br-ex", 4, 0, "192.0.2.1")},
		},
		"the gateway's subnet": {
			links:  []host.Link{link("br-ex", 9, "198.51.100.7/24", "192.0.2.7/24")},
			routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1")}, want: []string{"192.0.2.7"},
		},
		"public before private": {
			links:  []host.Link{link("br-ex", 9, "10.1.2.3/0", "192.0.2.7/0")},
			routes: []host.Route{route("br-ex", 4, 48, "")}, want: []string{"192.0.2.7"},
		},
		"both families, IPv4 first": {
			links:  []host.Link{link("br-ex", 9, "2001:db8::7/64", "192.0.2.7/24")},
			routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1"), route("br-ex", 6, 48, "fe80::1")},
			want:   []string{"192.0.2.7", "2001:db8::7"},
		},
		"IPv6 without a default route does not count": {
			links: []host.Link{link("br-ex", 9, "2001:db8::7/64", "192.0.2.7/24")}, routes: []host.Route{route("br-ex", 4, 48, "")},
			want: []string{"192.0.2.7"},
		},
		"OVN's own address does not count": {
			links:  []host.Link{link("br-ex", 9, "fd69::2/125", "2001:db8::7/64")},
			routes: []host.Route{route("br-ex", 6, 48, "")}, want: []string{"2001:db8::7"},
		},
		"hint": {
			links: []host.Link{br, other}, routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1")}, hint: "10.9.9.9",
			want: []string{"10.0.0.7"},
		},
		"hint for an address from DHCPv6": {
			links: []host.Link{leased}, routes: []host.Route{route("br-ex", 6, 48, "fe80::1")}, hint: "2001:db8::99", want: []string{"2001:db8::7"},
		},
		"hints of both families": {
			links: []host.Link{leased, br, other}, routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1")}, hint: "2001:db8::99,10.0.0.1",
			want: []string{"10.0.0.7", "2001:db8::7"},
		},
		"deprecated": {links: []host.Link{aging}, routes: []host.Route{route("br-ex", 6, 48, "fe80::1")}, want: []string{"2001:db8:2::7"}},
		"a gateway on none of the subnets": {
			links: []host.Link{br, other}, want: []string{"10.0.0.7"},
			routes: []host.Route{route("br-ex", 4, 48, "203.0.113.1"), route("eth1", 4, 48, "10.0.0.1")},
		},
		"hint for nothing": {
			links: []host.Link{br}, routes: []host.Route{route("br-ex", 4, 48, "192.0.2.1")}, hint: "203.0.113.1",
		},
		"no default route": {links: []host.Link{br}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, address := range NodeIP(test.links, test.routes, test.hint).All() {
				got = append(got, address.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	f := bridged(t)
	changes, err := Files(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, change := range changes {
		if change.Target == "/run/nodeip-configuration/ipv6" && !change.Want.Present {
			continue // there is no such address
		}
		if change.Kind != ledger.File || change.Want.Mode == nil || *change.Want.Mode != 0o644 {
			t.Errorf("%s: kind %s, mode %v", change.Target, change.Kind, change.Want.Mode)
		}
		got[change.Target] = string(change.Want.Content)
	}
	want := map[string]string{
		"/etc/nmstate/openshift/applied":                        "# br-ex was made by hcp-node-agent\n",
		"/var/lib/ovnk/iface_default_hint":                      "eth0\n",
		"/etc/systemd/system/kubelet.service.d/20-nodenet.conf": "[Service]\nEnvironment=\"KUBELET_NODE_IP=192.0.2.177\" \"KUBELET_NODE_IPS=192.0.2.177\"\n",
		"/etc/systemd/system/crio.service.d/20-nodenet.conf":    "[Service]\nEnvironment=\"CONTAINER_STREAM_ADDRESS=192.0.2.177\"\n",
		"/run/nodeip-configuration/primary-ip":                  "192.0.2.177",
		"/run/nodeip-configuration/ipv4":                        "192.0.2.177",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Files(facts(t, "dhcp")); err == nil {
		t.Error("files for a bridge that is not there")
	}
	f.NodeIPHint = "203.0.113.1"
	if _, err := Files(f); err == nil {
		t.Error("files without an address for the node")
	}
}

// The kernel is kept from hearing routers on a br-ex of ours alone, and only
// where NetworkManager hears them instead.
func TestFilesForRouters(t *testing.T) {
	for name, test := range map[string]struct {
		profile, method string
		want            bool
	}{
		"ours":               {bridgeIPProfile, "auto", true},
		"IPv6 switched off":  {bridgeIPProfile, "disabled", true},
		"IPv6 by the kernel": {bridgeIPProfile, "ignore", false},
		"somebody else's":    {"another", "auto", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := bridged(t)
			settings := networkmanager.Settings{}
			settings.Set("connection", "uuid", newUUID(f.MachineID, test.profile))
			settings.Set("ipv6", "method", test.method)
			f.Profiles = append(f.Profiles, networkmanager.Profile{Settings: settings})
			changes, err := Files(f)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.ContainsFunc(changes, func(c ledger.Change) bool {
				return c.Target == routerFile && strings.Contains(string(c.Want.Content), "\n-net.ipv6.conf.br-ex.accept_ra_defrtr = 0\n")
			})
			if got != test.want {
				t.Errorf("%t, want %t: %v", got, test.want, changes)
			}
			if test.profile != bridgeIPProfile {
				return
			}
			before := Move{Profiles: Profiles{BridgeIP: settings}}.Before()
			if len(before) > 0 != test.want || len(Move{AlreadyThere: true, Profiles: Profiles{BridgeIP: settings}}.Before()) > 0 {
				t.Errorf("before a move: %v", before)
			}
		})
	}
}
