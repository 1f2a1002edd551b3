// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Output of ovs-vsctl 3.1, with shorter UUIDs: a switch with settings of OVN; a NIC in rows of NetworkManager, an
// internal interface, a patch port of ovn-controller, a bond of two interfaces inside one port, an empty bridge; a QoS
// row of a pod, and no queue.
const listed = `{"data":[[["map",[["ovn-encap-ip","192.0.2.9"],["ovn-remote"," "],["system-id","here"]]],
["map",[["bundle-idle-timeout","180"]]]]],"headings":["external_ids","other_config"]}
{"data":[[["uuid","i1"],"br-ex","internal"],[["uuid","i2"],"eth0","system"],[["uuid","i3"],"patch-a","patch"],
[["uuid","i4"],"eth1",""],[["uuid","i5"],"eth2",""]],"headings":["_uuid","name","type"]}
{"data":[[["uuid","p1"],"br-ex",["map",[]],["uuid","i1"]],[["uuid","p2"],"eth0",["map",[]],["uuid","i2"]],
[["uuid","p3"],"patch-a",["map",[["ovn-localnet-port","physnet_n"]]],["uuid","i3"]],
[["uuid","p4"],"bond",["map",[]],["set",[["uuid","i4"],["uuid","i5"]]]]],
"headings":["_uuid","name","external_ids","interfaces"]}
{"data":[["br-ex",["map",[["NM.connection.uuid","69aba0c6"],["bridge-uplink","eth0"]]],
["set",[["uuid","p1"],["uuid","p2"],["uuid","p3"]]]],["br-int",["map",[]],["set",[]]],
["br-bond",["map",[]],["uuid","p4"]]],"headings":["name","external_ids","ports"]}
{"data":[[["uuid","dc93"],["map",[["sandbox","0123"]]]]],"headings":["_uuid","external_ids"]}
{"data":[],"headings":["_uuid","external_ids"]}
`

func TestParseDatabase(t *testing.T) {
	want := Database{
		ExternalIDs: map[string]string{"ovn-encap-ip": "192.0.2.9", "ovn-remote": " ", "system-id": "here"},
		OtherConfig: map[string]string{"bundle-idle-timeout": "180"},
		Bridges: []Bridge{
			{
				Name: "br-ex", ExternalIDs: map[string]string{"NM.connection.uuid": "69aba0c6", "bridge-uplink": "eth0"},
				Ports: []Port{
					{Name: "br-ex"},
					{Name: "eth0"},
					{Name: "patch-a", ExternalIDs: map[string]string{"ovn-localnet-port": "physnet_n"}},
				},
				Interfaces: []Interface{
					{Name: "br-ex", Type: "internal"}, {Name: "eth0", Type: "system"}, {Name: "patch-a", Type: "patch"},
				},
			},
			{Name: "br-int"},
			{Name: "br-bond", Ports: []Port{{Name: "bond"}}, Interfaces: []Interface{{Name: "eth1"}, {Name: "eth2"}}},
		},
		Rows: []Row{{Table: "QoS", UUID: "dc93", ExternalIDs: map[string]string{"sandbox": "0123"}}},
	}
	got, err := parseDatabase(listed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Port{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, output := range []string{
		"", "ovs-vsctl: no such table", `{"data":[],"headings":[]}`, `{"data":[["not a map"]],"headings":["external_ids"]}`,
	} {
		if got, err := parseDatabase(output); err == nil {
			t.Errorf("%q was parsed as %v", output, got)
		}
	}
}
