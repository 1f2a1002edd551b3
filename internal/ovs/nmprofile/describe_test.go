// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/test/nmtest"
)

// Settings of other types of uplinks.
func TestDescribeSettings(t *testing.T) {
	eth0 := nmtest.NewIP(t, "192.0.2.177/24", "192.0.2.1", "0.0.0.0/0 via 192.0.2.1", "192.0.2.0/24")
	eth0.Nameservers = []netip.Addr{eth0.Gateway}
	static := networkmanager.Settings{}
	static.Set("connection", "master", "1-2-3")
	static.Set("ipv4", "method", "manual")
	static.SetIP(networkmanager.IPv4, missingStaticIP(static, networkmanager.IPv4, eth0))
	static.Set("ipv4", "dns-search", []string{"example.com", "example.net"})
	static.Set("ipv6", "method", "auto")
	static.Set("ipv6", "token", "::7")
	static.Set("ipv6", "dhcp-duid", "ll")
	bond := networkmanager.Settings{}
	bond.Set("bond", "options", map[string]string{"mode": "802.3ad", "miimon": "100"})
	vlan := networkmanager.Settings{}
	vlan.Set("vlan", "id", uint32(7))
	vlan.Set("vlan", "parent", "bond0")
	for name, test := range map[string]struct {
		settings networkmanager.Settings
		want     string
	}{
		"static": {
			static,
			"in 1-2-3|IPv4 manual|192.0.2.177/24|via 192.0.2.1|DNS 192.0.2.1|search example.com example.net|IPv6 " +
				"auto|DHCP DUID ll|token ::7",
		},
		"bond": {bond, "bond miimon=100 mode=802.3ad"},
		"VLAN": {vlan, "VLAN 7|of bond0"},
		"none": {networkmanager.Settings{}, ""},
	} {
		if diff := cmp.Diff(test.want, strings.Join(describeSettings(test.settings, nil), "|")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
