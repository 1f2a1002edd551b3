// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestDescribe(t *testing.T) {
	for name, want := range map[string][]string{
		"dhcp": {
			`attach eth0 (selected by the IPv4 default route; NetworkManager profile "Wired connection 1") to the new ` +
				`Open vSwitch bridge br-ex; br-ex takes over its addresses (192.0.2.177), MAC, DHCP identity, DNS and routes`,
			`add the NetworkManager profiles below; "Wired connection 1" remains unchanged, with an autoconnect priority ` +
				`below 100`,
			"expect up to 0.1 s of interruption; any failure, including a crash of the agent, triggers a rollback",
			"+ br-ex (ovs-bridge, br-ex): MTU 1500, bridge-uplink=eth0",
			"+ ovs-port-phys0 (ovs-port, eth0): in br-ex",
			"+ ovs-port-br-ex (ovs-port, br-ex): in br-ex",
			"+ ovs-if-phys0 (802-3-ethernet, eth0): in ovs-port-phys0, autoconnect-priority 100, MAC 52:54:00:A1:26:B0, " +
				"MTU 1500",
			"+ ovs-if-br-ex (ovs-interface, br-ex): in ovs-port-br-ex, MAC 52:54:00:A1:26:B0, MTU 1500, IPv4 auto, metric " +
				"48, DHCP client 01:52:54:00:a1:26:b0, IPv6 auto, metric 48",
		},
	} {
		move, err := Plan(facts(t, name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, move.Describe()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	move, err := Plan(facts(t, "bridged"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"br-ex already exists with uplink eth0: nothing to do"}, move.Describe()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMigrationDifferences(t *testing.T) {
	old, err := Plan(facts(t, "dhcp"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lines := old.Differences(old); len(lines) > 0 {
		t.Errorf("a migration differs from itself: %q", lines)
	}
	attached, err := Plan(facts(t, "bridged"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(attached.Describe(), attached.Differences(old)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Settings of other types of uplinks.
func TestDescribeSettings(t *testing.T) {
	eth0, _ := facts(t, "dhcp").Device("eth0")
	static := networkmanager.Settings{}
	static.Set("connection", "master", "1-2-3")
	static.Set("ipv4", "method", "manual")
	static.SetIP(networkmanager.IPv4, missingStaticIP(static, networkmanager.IPv4, eth0.IPv4))
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
