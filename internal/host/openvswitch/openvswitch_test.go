// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Output of Open vSwitch 3.1: a NIC in rows of NetworkManager, an internal
// interface, a patch port, a bond of two interfaces inside one port, an empty
// bridge.
const listed = `{"data":[["br-ex",["map",[["NM.connection.uuid","69aba0c6"],["bridge-uplink","eth0"]]],["set",[["uuid","p1"],["uuid","p2"],["uuid","p3"]]]],["br-int",["map",[]],["set",[]]],["br-bond",["map",[]],["uuid","p4"]]],"headings":["name","external_ids","ports"]}
{"data":[[["uuid","p1"],["uuid","i1"]],[["uuid","p2"],["uuid","i2"]],[["uuid","p3"],["uuid","i3"]],[["uuid","p4"],["set",[["uuid","i4"],["uuid","i5"]]]]],"headings":["_uuid","interfaces"]}
{"data":[[["uuid","i1"],"br-ex","internal"],[["uuid","i2"],"eth0","system"],[["uuid","i3"],"patch-br-ex-to-br-int","patch"],[["uuid","i4"],"eth1",""],[["uuid","i5"],"eth2",""]],"headings":["_uuid","name","type"]}
`

func TestParseBridges(t *testing.T) {
	got, err := parseBridges(listed)
	if err != nil {
		t.Fatal(err)
	}
	want := []Bridge{
		{
			Name: "br-ex", ExternalIDs: map[string]string{"NM.connection.uuid": "69aba0c6", "bridge-uplink": "eth0"},
			Interfaces: []Interface{
				{Name: "br-ex", Type: "internal"}, {Name: "eth0", Type: "system"}, {Name: "patch-br-ex-to-br-int", Type: "patch"},
			},
		},
		{Name: "br-int"},
		{Name: "br-bond", Interfaces: []Interface{{Name: "eth1"}, {Name: "eth2"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseBridgesRefusesUnknownFormat(t *testing.T) {
	for _, output := range []string{"", "ovs-vsctl: no such table", `{"data":[],"headings":[]}`} {
		if got, err := parseBridges(output); err == nil {
			t.Errorf("%q was read as %v", output, got)
		}
	}
}
