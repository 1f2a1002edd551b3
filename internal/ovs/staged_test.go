// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// newIP returns a NIC's configuration of a family: addresses, a gateway, and
// routes as "DESTINATION [via GATEWAY] [METRIC] [table TABLE]".
func newIP(t *testing.T, addresses, gateway string, routes ...string) networkmanager.IP {
	t.Helper()
	var ip networkmanager.IP
	for _, address := range strings.Fields(addresses) {
		ip.Addresses = append(ip.Addresses, netip.MustParsePrefix(address))
	}
	ip.Gateway, _ = netip.ParseAddr(gateway)
	for _, text := range routes {
		route := networkmanager.Route{Metric: 100}
		words := strings.Fields(text)
		route.Destination = netip.MustParsePrefix(words[0])
		for i := 1; i+1 < len(words); i += 2 {
			var err error
			switch words[i] {
			case "via":
				route.Gateway, err = netip.ParseAddr(words[i+1])
			case "metric":
				_, err = fmt.Sscan(words[i+1], &route.Metric)
			case "table":
				_, err = fmt.Sscan(words[i+1], &route.Table)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ip.Routes = append(ip.Routes, route)
	}
	return ip
}

// sectionText returns the properties of a section that are not empty.
func sectionText(s networkmanager.Settings, section string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s[section])) {
		text := s[section][name].String()
		if text != `@aa{sv} []` {
			all = append(all, name+"="+text)
		}
	}
	return strings.Join(all, "\n")
}

// The families are independent: which static addresses are set, and which
// requests are sent while they are kept.
func TestStagedProfiles(t *testing.T) {
	profile := func(section, method string) networkmanager.Settings {
		s := networkmanager.Settings{}
		s.Set(section, "method", method)
		s.Set(section, "route-metric", int64(48))
		return s
	}
	static := profile("ipv4", "manual")
	static.SetIP(networkmanager.IPv4, newIP(t, "192.0.2.7/24", "192.0.2.1", "10.0.0.0/8 via 192.0.2.2 metric 50"))
	never := profile("ipv4", "auto")
	never.Set("ipv4", "never-default", true)
	v4 := newIP(t, "192.0.2.7/24", "192.0.2.1", "0.0.0.0/0 via 192.0.2.1", "192.0.2.0/24",
		"10.0.0.0/8 via 192.0.2.2 metric 50")
	v6 := newIP(t, "2001:db8::7/128", "fe80::1", "::/0 via fe80::1", "::/0 via fe80::2", "2001:db8::/64",
		"fe80::/64 metric 1024")
	const address4 = `address-data=[{"address": <"192.0.2.7">, "prefix": <@u 24>}]`
	const address6 = `address-data=[{"address": <"2001:db8::7">, "prefix": <@u 128>}]`
	for name, test := range map[string]struct {
		family      networkmanager.Family
		final       networkmanager.Settings
		now         networkmanager.IP
		copy, lease []string // nil: as in the final settings
	}{
		"DHCPv4": {
			networkmanager.IPv4, profile("ipv4", "auto"), v4,
			[]string{
				address4, `gateway="192.0.2.1"`, `method="manual"`,
				`route-data=[{"dest": <"10.0.0.0">, "metric": <@u 350>, "next-hop": <"192.0.2.2">, "prefix": <@u 8>}]`,
				`route-metric=@x 400`,
			},
			[]string{
				address4, `dhcp-timeout=2147483647`, `gateway="192.0.2.1"`, `method="auto"`,
				`route-data=[{"dest": <"10.0.0.0">, "next-hop": <"192.0.2.2">, "prefix": <@u 8>}]`, `route-metric=@x 48`,
			},
		},
		"static IPv4": {
			networkmanager.IPv4, static, v4,
			[]string{
				address4, `gateway="192.0.2.1"`, `method="manual"`,
				`route-data=[{"dest": <"10.0.0.0">, "metric": <@u 350>, "next-hop": <"192.0.2.2">, "prefix": <@u 8>}]`,
				`route-metric=@x 400`,
			},
			nil,
		},
		"IPv6 from DHCPv6, two routers": {
			networkmanager.IPv6, profile("ipv6", "auto"), v6,
			[]string{
				address6, `gateway="fe80::1"`, `method="manual"`,
				`route-data=[{"dest": <"::">, "metric": <@u 400>, "next-hop": <"fe80::2">, "prefix": <@u 0>}, ` +
					`{"dest": <"2001:db8::">, "metric": <@u 400>, "prefix": <@u 64>}]`, `route-metric=@x 400`,
			},
			nil,
		},
		"a default route without a gateway": {
			networkmanager.IPv4, profile("ipv4", "auto"), newIP(t, "192.0.2.7/32", "", "0.0.0.0/0"),
			[]string{
				`address-data=[{"address": <"192.0.2.7">, "prefix": <@u 32>}]`, `method="manual"`,
				`route-data=[{"dest": <"0.0.0.0">, "metric": <@u 400>, "prefix": <@u 0>}]`, `route-metric=@x 400`,
			},
			[]string{
				`address-data=[{"address": <"192.0.2.7">, "prefix": <@u 32>}]`, `dhcp-timeout=2147483647`, `method="auto"`,
				`route-data=[{"dest": <"0.0.0.0">, "prefix": <@u 0>}]`, `route-metric=@x 48`,
			},
		},
		"a table of its own": {
			networkmanager.IPv4, profile("ipv4", "auto"), newIP(t, "192.0.2.7/24", "", "0.0.0.0/0 via 192.0.2.1 table 7"),
			[]string{
				address4, `method="manual"`,
				`route-data=[{"dest": <"0.0.0.0">, "metric": <@u 400>, "next-hop": <"192.0.2.1">, "prefix": <@u 0>, "table": ` +
					`<@u 7>}]`,
				`route-metric=@x 400`,
			},
			[]string{
				address4, `dhcp-timeout=2147483647`, `method="auto"`,
				`route-data=[{"dest": <"0.0.0.0">, "next-hop": <"192.0.2.1">, "prefix": <@u 0>, "table": <@u 7>}]`,
				`route-metric=@x 48`,
			},
		},
		"never a default route": {
			networkmanager.IPv4, never, newIP(t, "192.0.2.7/24", "192.0.2.1"),
			[]string{address4, `method="manual"`, `never-default=true`, `route-metric=@x 400`},
			[]string{address4, `dhcp-timeout=2147483647`, `method="auto"`, `never-default=true`, `route-metric=@x 48`},
		},
		"no server has responded on IPv4": {
			networkmanager.IPv4,
			profile("ipv4", "auto"),
			networkmanager.IP{},
			[]string{`method="disabled"`},
			nil,
		},
		"no router on IPv6": {
			networkmanager.IPv6,
			profile("ipv6", "auto"),
			networkmanager.IP{},
			[]string{`method="link-local"`},
			nil,
		},
		"disabled":   {networkmanager.IPv4, profile("ipv4", "disabled"), networkmanager.IP{}, nil, nil},
		"left alone": {networkmanager.IPv6, profile("ipv6", "ignore"), networkmanager.IP{}, nil, nil},
		"link-local": {networkmanager.IPv6, profile("ipv6", "link-local"), networkmanager.IP{}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			section := test.family.Section()
			for what, step := range map[string]struct {
				got  networkmanager.Settings
				want []string
			}{
				"copy":  {StaticSettings(test.final, IPState{test.family: test.now}), test.copy},
				"lease": {newStagedProfiles(test.final, IPState{test.family: test.now}, false).DHCP, test.lease},
			} {
				want := strings.Join(step.want, "\n")
				if step.want == nil {
					want = sectionText(test.final, section)
				}
				if diff := cmp.Diff(want, sectionText(step.got, section)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// If a second default route is better than the static one, br-ex's routes must
// become better before the NIC loses its own.
func TestStaticFinalMetric(t *testing.T) {
	for name, test := range map[string]struct {
		other  []hostnet.Route
		prefer bool
	}{
		"alone":                      {},
		"NetworkManager's second":    {[]hostnet.Route{route("eth1", 4, 101, "198.51.100.1")}, true},
		"a much worse one":           {[]hostnet.Route{route("eth1", 4, 20100, "198.51.100.1")}, false},
		"only one of another family": {[]hostnet.Route{route("eth1", 6, 101, "fe80::1")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "dhcp")
			f.Routes = append(f.Routes, test.other...)
			move, err := Plan(f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if (move.Staged.StaticFinalMetric != nil) != test.prefer {
				t.Fatalf("it prefers br-ex: %t", move.Staged.StaticFinalMetric != nil)
			}
			if test.prefer &&
				(move.Staged.StaticFinalMetric.Int64("ipv4", "route-metric") != 48 ||
					move.Staged.StaticFinalMetric.Method(networkmanager.IPv4) != "manual") {
				t.Errorf("with %s", sectionText(move.Staged.StaticFinalMetric, "ipv4"))
			}
		})
	}
}

// At boot the host must not be considered online without its first family, and
// the second family must not take it down.
func TestRequireAddresses(t *testing.T) {
	both := func(four, six string) networkmanager.Settings {
		s := networkmanager.Settings{}
		s.Set("ipv4", "method", four)
		s.Set("ipv6", "method", six)
		return s
	}
	four, six := newIP(t, "192.0.2.7/24", ""), newIP(t, "2001:db8::7/64", "")
	for name, test := range map[string]struct {
		settings   networkmanager.Settings
		now        IPState
		version    string
		four, six4 string
	}{
		"IPv4 alone": {both("auto", "auto"), IPState{4: four}, "1.42.4", "may-fail=false", ""},
		"IPv6 alone": {both("disabled", "auto"), IPState{6: six}, "1.42.4", "", "may-fail=false"},
		"both": {
			both("auto", "auto"),
			IPState{4: four, 6: six},
			"1.42.4",
			"may-fail=false",
			"required-timeout=30000",
		},
		"old NetworkManager": {both("auto", "auto"), IPState{4: four, 6: six}, "1.32.10", "may-fail=false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{NetworkManager: networkmanager.Info{Version: test.version}}
			profileInputs{facts: facts, now: test.now}.requireAddresses(test.settings)
			for section, want := range map[string]string{"ipv4": test.four, "ipv6": test.six4} {
				got := strings.TrimSpace(
					strings.Replace(sectionText(test.settings, section), `method="`+test.settings.Text(section, "method")+`"`, "", 1),
				)
				if got != want {
					t.Errorf("%s: %q, want %q", section, got, want)
				}
			}
		})
	}
}
