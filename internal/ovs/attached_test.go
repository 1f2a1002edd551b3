// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestPlanAlreadyAttached(t *testing.T) {
	for _, options := range []Options{{}, {BridgeInterface: "eth0"}, {BridgeInterface: "br-ex"}} {
		move, err := Plan(facts(t, "bridged"), options)
		if err != nil || !move.AlreadyAttached || move.Uplink != "eth0" {
			t.Errorf("with %+v: already there %t, uplink %q, %v", options, move.AlreadyAttached, move.Uplink, err)
		}
	}
	renamed := facts(t, "bridged")
	for i := range renamed.Links {
		renamed.Links[i].AltNames = []string{"altname-" + renamed.Links[i].Name}
	}
	if _, err := Plan(renamed, Options{BridgeInterface: "altname-eth0"}); err != nil {
		t.Errorf("an alternative name of the uplink is refused: %v", err)
	}
	_, err := Plan(facts(t, "bridged"), Options{BridgeInterface: "ctl0"})
	if report.CodeOf(err) != report.Refused {
		t.Errorf("another uplink than the one in br-ex: %v", err)
	}
}

// Leftovers of the agent do not prevent a migration; they are removed.
func TestPlanAcceptsOwnLeftovers(t *testing.T) {
	f := facts(t, "dhcp")
	f.OVS.Bridges = []openvswitch.Bridge{{
		Name: "br-ex", ExternalIDs: map[string]string{"NM.connection.uuid": ProfileUUIDs(f.MachineID)[BridgeProfile]},
	}}
	move, err := Plan(f, Options{})
	if err != nil || move.AlreadyAttached {
		t.Fatalf("already there %t, %v", move.AlreadyAttached, err)
	}
	if !HasLeftovers(f, move.Backup) {
		t.Error("the leftover was not seen")
	}
	if HasLeftovers(facts(t, "dhcp"), move.Backup) {
		t.Error("a leftover was seen on a clean machine")
	}
}

func TestUUIDsDependOnMachineID(t *testing.T) {
	a, again, b := ProfileUUIDs("a"), ProfileUUIDs("a"), ProfileUUIDs("b")
	seen := map[string]bool{}
	for name, uuid := range a {
		if uuid != again[name] || uuid == b[name] || seen[uuid] {
			t.Errorf("%s: %s, again %s, on another machine %s", name, uuid, again[name], b[name])
		}
		seen[uuid] = true
	}
	if len(a) != 5 {
		t.Errorf("%d profiles", len(a))
	}
}

// The order of addresses is the kernel's, not NetworkManager's.
func TestIPStateHasKernelOrder(t *testing.T) {
	first, second := netip.MustParsePrefix("192.0.2.50/24"), netip.MustParsePrefix("192.0.2.60/24")
	device := networkmanager.Device{IPv4: networkmanager.IP{Addresses: []netip.Prefix{second, first}}}
	now := IPStateOf(Facts{}, hostnet.Link{Addresses: []netip.Prefix{first, second}}, device)
	if got := now[networkmanager.IPv4].Addresses; got[0] != first || got[1] != second {
		t.Errorf("%v", got)
	}
}
