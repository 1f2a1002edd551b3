// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
