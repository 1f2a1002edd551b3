// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
)

func link(name string, index int, addresses ...string) hostnet.Link {
	l := hostnet.Link{Name: name, Index: index}
	for _, address := range addresses {
		l.Addresses = append(l.Addresses, netip.MustParsePrefix(address))
	}
	return l
}

func TestChoose(t *testing.T) {
	leased := link("br-ex", 9, "2001:db8::7/128") // by DHCPv6
	leased.Advertised = []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")}
	aging := link("br-ex", 9, "2001:db8:1::7/64", "2001:db8:2::7/64")
	aging.Transient = []netip.Addr{netip.MustParseAddr("2001:db8:1::7")}
	br, other := link("br-ex", 9, "192.0.2.7/24"), link("eth1", 3, "10.0.0.7/8")
	tests := map[string]struct {
		links  []hostnet.Link
		routes []hostnet.Route
		hint   string
		want   []string
		has    Addresses // the node has them already
	}{
		"the link of the default route": {
			links:  []hostnet.Link{other, br},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")},
			want:   []string{"192.0.2.7"},
		},
		"the lower metric": {
			links: []hostnet.Link{other, br}, want: []string{"192.0.2.7"},
			routes: []hostnet.Route{route("eth1", 4, 100, "10.0.0.1"), route("br-ex", 4, 48, "192.0.2.1")},
		},
		"the lower index at the same metric": {
			links: []hostnet.Link{br, other}, want: []string{"10.0.0.7"},
			routes: []hostnet.Route{route("eth1", 4, 0, "10.0.0.1"), route("br-ex", 4, 0, "192.0.2.1")},
		},
		"the gateway's subnet": {
			links:  []hostnet.Link{link("br-ex", 9, "198.51.100.7/24", "192.0.2.7/24")},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")}, want: []string{"192.0.2.7"},
		},
		"public before private": {
			links:  []hostnet.Link{link("br-ex", 9, "10.1.2.3/0", "192.0.2.7/0")},
			routes: []hostnet.Route{route("br-ex", 4, 48, "")}, want: []string{"192.0.2.7"},
		},
		"a public address that was added": {
			links:  []hostnet.Link{link("br-ex", 9, "10.1.2.3/0", "192.0.2.7/0")},
			routes: []hostnet.Route{route("br-ex", 4, 48, "")}, want: []string{"10.1.2.3"},
			has: Addresses{IPv4: netip.MustParseAddr("10.1.2.3")},
		},
		"an IPv6 address that was added": {
			links:  []hostnet.Link{link("br-ex", 9, "2001:db8::8/64", "2001:db8::7/64")},
			routes: []hostnet.Route{route("br-ex", 6, 48, "")}, want: []string{"2001:db8::7"},
			has: Addresses{IPv6: netip.MustParseAddr("2001:db8::7")},
		},
		"another uplink": {
			links: []hostnet.Link{br, other}, want: []string{"192.0.2.7"},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1"), route("eth1", 4, 100, "10.0.0.1")},
			has:    Addresses{IPv4: netip.MustParseAddr("10.0.0.7")},
		},
		"an address that is gone": {
			links:  []hostnet.Link{br},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")}, want: []string{"192.0.2.7"},
			has: Addresses{IPv4: netip.MustParseAddr("192.0.2.8")},
		},
		"both families, IPv4 first": {
			links:  []hostnet.Link{link("br-ex", 9, "2001:db8::7/64", "192.0.2.7/24")},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1"), route("br-ex", 6, 48, "fe80::1")},
			want:   []string{"192.0.2.7", "2001:db8::7"},
		},
		"IPv6 without a default route, on a link with one": {
			links:  []hostnet.Link{link("br-ex", 9, "2001:db8::7/64", "192.0.2.7/24"), link("eth1", 3, "2001:db8:1::7/64")},
			routes: []hostnet.Route{route("br-ex", 4, 48, "")},
			want:   []string{"192.0.2.7", "2001:db8::7"},
		},
		"OVN's own address does not count": {
			links:  []hostnet.Link{link("br-ex", 9, "fd69::2/125", "2001:db8::7/64")},
			routes: []hostnet.Route{route("br-ex", 6, 48, "")}, want: []string{"2001:db8::7"},
		},
		"hint": {
			links: []hostnet.Link{br, other}, routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")}, hint: "10.9.9.9",
			want: []string{"10.0.0.7"},
		},
		"hint of one family, and the other on the same link": {
			links:  []hostnet.Link{br, link("eth1", 3, "2001:db8:1::7/64", "172.16.0.7/16", "10.0.0.7/8")},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1"), route("br-ex", 6, 48, "fe80::1")}, hint: "10.9.9.9",
			want: []string{"10.0.0.7", "2001:db8:1::7"},
		},
		"hint for an address from DHCPv6": {
			links:  []hostnet.Link{leased},
			routes: []hostnet.Route{route("br-ex", 6, 48, "fe80::1")},
			hint:   "2001:db8::99",
			want:   []string{"2001:db8::7"},
		},
		"hints of both families": {
			links:  []hostnet.Link{leased, br, other},
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")},
			hint:   "2001:db8::99,10.0.0.1",
			want:   []string{"10.0.0.7", "2001:db8::7"},
		},
		"deprecated": {
			links:  []hostnet.Link{aging},
			routes: []hostnet.Route{route("br-ex", 6, 48, "fe80::1")},
			want:   []string{"2001:db8:2::7"},
		},
		"a gateway on none of the subnets": {
			links: []hostnet.Link{br, other}, want: []string{"10.0.0.7"},
			routes: []hostnet.Route{route("br-ex", 4, 48, "203.0.113.1"), route("eth1", 4, 48, "10.0.0.1")},
		},
		"hint for nothing": {
			links: []hostnet.Link{br}, routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")}, hint: "203.0.113.1",
			want: []string{"192.0.2.7"},
		},
		"hint of another family": {
			links: []hostnet.Link{br, other}, hint: "2001:db8::99,172.31.0.1",
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")}, want: []string{"192.0.2.7"},
		},
		"hint with an address of /32": {
			links: []hostnet.Link{link("br-ex", 9, "192.0.2.7/32")}, hint: "192.0.2.1",
			routes: []hostnet.Route{route("br-ex", 4, 48, "192.0.2.1")}, want: []string{"192.0.2.7"},
		},
		"no default route": {links: []hostnet.Link{br}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, address := range Choose(test.links, test.routes, test.hint, test.has).All() {
				got = append(got, address.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDropIn(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	for name, node := range map[string]Addresses{
		"IPv4": {IPv4: four}, "IPv6": {IPv6: six}, "both": {IPv4: four, IPv6: six},
		"IPv6 first": {IPv4: four, IPv6: six, IPv6First: true},
	} {
		node.IPv6First = node.IPv6First || !node.IPv4.IsValid()
		written := Files(node)[0]
		if written.Target != KubeletDropIn {
			t.Fatalf("the first file is %s", written.Target)
		}
		if diff := cmp.Diff(node, parseDropIn(written.Desired.Content), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, other := range []string{"", "[Service]\n", "\"KUBELET_NODE_IPS=", "\"KUBELET_NODE_IPS=a,b\""} {
		if got := parseDropIn([]byte(other)); got.Primary().IsValid() {
			t.Errorf("%q: %v", other, got)
		}
	}
}

func TestCovers(t *testing.T) {
	four, six := Addresses{IPv4: netip.MustParseAddr("192.0.2.7")}, Addresses{IPv6: netip.MustParseAddr("2001:db8::7")}
	both := Addresses{IPv4: four.IPv4, IPv6: six.IPv6}
	for name, test := range map[string]struct {
		now, had Addresses
		want     bool
	}{
		"nothing yet":           {Addresses{}, Addresses{}, false},
		"the first":             {four, Addresses{}, true},
		"another one":           {Addresses{IPv4: netip.MustParseAddr("192.0.2.8")}, four, true},
		"IPv6 not yet":          {four, both, false},
		"IPv4 not yet":          {six, both, false},
		"one more":              {both, four, true},
		"another family, alone": {six, four, false},
	} {
		if got := test.now.covers(test.had); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func route(link string, family, metric int, gateway string) hostnet.Route {
	r := hostnet.Route{Link: link, Family: family, Metric: metric}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

// The order is that of --prefer-ipv6 in the payload's unit.
func TestIPv6First(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.177"), netip.MustParseAddr("2001:db8:1::17")
	want := map[string]string{
		KubeletDropIn: "[Service]\nEnvironment=\"KUBELET_NODE_IP=2001:db8:1::17\" " +
			"\"KUBELET_NODE_IPS=2001:db8:1::17,192.0.2.177\"\n",
		crioDropIn:  "[Service]\nEnvironment=\"CONTAINER_STREAM_ADDRESS=2001:db8:1::17\"\n",
		PrimaryFile: "2001:db8:1::17", runtimeDir + "/ipv4": "192.0.2.177", runtimeDir + "/ipv6": "2001:db8:1::17",
	}
	got := map[string]string{}
	for _, change := range Files(Addresses{IPv4: four, IPv6: six, IPv6First: true}) {
		got[change.Target] = string(change.Desired.Content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if primary := (Addresses{IPv4: four, IPv6First: true}).Primary(); primary != four {
		t.Errorf("without an IPv6 address, the primary address is %s", primary)
	}
	for unit, want := range map[string]bool{
		"ExecStart=/bin/podman run IMAGE \\\n    node-ip \\\n    set --prefer-ipv6 --retry-on-failure \\\n": true,
		"ExecStart=/bin/podman run IMAGE node-ip set --retry-on-failure\n#    --prefer-ipv6\n":              false, "": false,
	} {
		if prefersIPv6(settingsOf(unit)) != want {
			t.Errorf("%q: %t", unit, !want)
		}
	}
}

// The number of addresses is that of the option of kubelet in the payload's unit.
func TestIsDualStack(t *testing.T) {
	for unit, want := range map[string]bool{
		"ExecStart=/usr/local/bin/kubenswrapper kubelet \\\n  --node-ip=${KUBELET_NODE_IPS} \\\n  --v=2\n": true,
		"ExecStart=/usr/local/bin/kubenswrapper kubelet \\\n  --node-ip=${KUBELET_NODE_IP} \\\n  --v=2\n":  false,
		"ExecStart=kubelet\n# --node-ip=${KUBELET_NODE_IPS}\n":                                             false, "": false,
	} {
		if isDualStack(settingsOf(unit)) != want {
			t.Errorf("%q: %t", unit, !want)
		}
	}
}
