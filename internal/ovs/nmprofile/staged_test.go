// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/test/nmtest"
)

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
	static.SetIP(networkmanager.IPv4, nmtest.NewIP(t, "192.0.2.7/24", "192.0.2.1", "10.0.0.0/8 via 192.0.2.2 metric 50"))
	never := profile("ipv4", "auto")
	never.Set("ipv4", "never-default", true)
	v4 := nmtest.NewIP(t, "192.0.2.7/24", "192.0.2.1", "0.0.0.0/0 via 192.0.2.1", "192.0.2.0/24",
		"10.0.0.0/8 via 192.0.2.2 metric 50")
	v6 := nmtest.NewIP(t, "2001:db8::7/128", "fe80::1", "::/0 via fe80::1", "::/0 via fe80::2", "2001:db8::/64",
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
			networkmanager.IPv4, profile("ipv4", "auto"), nmtest.NewIP(t, "192.0.2.7/32", "", "0.0.0.0/0"),
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
			networkmanager.IPv4, profile("ipv4", "auto"), nmtest.NewIP(t, "192.0.2.7/24", "", "0.0.0.0/0 via 192.0.2.1 table 7"),
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
			networkmanager.IPv4, never, nmtest.NewIP(t, "192.0.2.7/24", "192.0.2.1"),
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
				"lease": {NewStagedProfiles(test.final, IPState{test.family: test.now}, false).DHCP, test.lease},
			} {
				want := strings.Join(step.want, "\n")
				if step.want == nil {
					want = nmtest.SectionText(test.final, section)
				}
				if diff := cmp.Diff(want, nmtest.SectionText(step.got, section)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}
