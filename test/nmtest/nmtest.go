// SPDX-License-Identifier: Apache-2.0

// Package nmtest contains what the tests of NetworkManager profiles share.
package nmtest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// NewIP returns a NIC's configuration of a family: addresses, a gateway, and
// routes as "DESTINATION [via GATEWAY] [METRIC] [table TABLE]".
func NewIP(t *testing.T, addresses, gateway string, routes ...string) networkmanager.IP {
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

// SectionText returns the properties of a section that are not empty.
func SectionText(s networkmanager.Settings, section string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s[section])) {
		text := s[section][name].String()
		if text != `@aa{sv} []` {
			all = append(all, name+"="+text)
		}
	}
	return strings.Join(all, "\n")
}

// SettingTexts returns all properties as text, by SECTION.NAME.
func SettingTexts(s networkmanager.Settings) map[string]string {
	found := map[string]string{}
	for section, properties := range s {
		for name, v := range properties {
			found[section+"."+name] = v.String()
		}
	}
	return found
}
