// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The flows of OVN-Kubernetes contain the port number of the uplink, which must
// be the same after NetworkManager has created the bridge again.
func TestUplinkRequestsPortNumber(t *testing.T) {
	for version, want := range map[string]any{"1.40.16": nil, "1.42.4": uint32(1), "1.52.0": uint32(1)} {
		f := facts(t, "dhcp")
		f.NetworkManager.Version = version
		move, err := Plan(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		section := move.Profiles.NIC["ovs-interface"]
		if got := section["ofport-request"].Value(); got != want {
			t.Errorf("NetworkManager %s: the uplink's profile requests port %v, want %v", version, got, want)
		}
		if want != nil && section["type"].Value() != "system" {
			t.Errorf("NetworkManager %s: section %v without the type that OVN-Kubernetes looks for", version, section)
		}
		// NetworkManager refuses a profile with an unknown property.
		if want == nil && section != nil {
			t.Errorf("NetworkManager %s: the uplink's profile has a section %v", version, section)
		}
	}
}

func TestPortsNameBridgeByInterface(t *testing.T) {
	move, err := Plan(facts(t, "dhcp"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []networkmanager.Settings{move.Profiles.NICPort, move.Profiles.BridgePort} {
		if got := port.Text("connection", "master"); got != "br-ex" {
			t.Errorf("%s is in %q, want br-ex, with which 10-ofport-request.sh of OpenShift 4.14 compares it",
				port.Text("connection", "id"), got)
		}
	}
	if got := move.Profiles.NIC.Text("connection", "master"); got != move.Profiles.NICPort.Text("connection", "uuid") {
		t.Errorf("ovs-if-phys0 is in %q", got)
	}
}

// The ports would be attached to the bridge of another profile if
// NetworkManager chooses that profile for br-ex.
func TestForeignBridgeProfileIsRefused(t *testing.T) {
	f := facts(t, "dhcp")
	other := networkmanager.Settings{}
	for key, value := range map[string]string{
		"id": "mine", "uuid": "7-7-7", "type": "ovs-bridge",
		"interface-name": "br-ex",
	} {
		other.Set("connection", key, value)
	}
	f.Profiles = append(f.Profiles, networkmanager.Profile{Settings: other})
	_, err := Plan(f, Options{})
	if report.CodeOf(err) != report.Refused ||
		!strings.Contains(string(report.RemedyOf(err)), "nmcli connection delete uuid 7-7-7") {
		t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
	}
}
