// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Output of ovs-vsctl 3.1, with shorter UUIDs: a switch with settings of OVN,
// two bridges, a port of ovn-controller, a QoS row of a pod, and no queue.
const listedDatabase = `{"data":[[["map",[["ovn-encap-ip","192.0.2.9"],["ovn-remote"," "],["system-id","here"]]],["map",[["bundle-idle-timeout","180"]]]]],"headings":["external_ids","other_config"]}
{"data":[["br-mine",["set",[["uuid","4bd7"],["uuid","6208"]]]],["br-int",["set",[["uuid","d35e"],["uuid","ef7f"]]]]],"headings":["name","ports"]}
{"data":[[["uuid","d35e"],"patch-a",["map",[["ovn-localnet-port","physnet_n"]]]],[["uuid","ef7f"],"br-int",["map",[]]],[["uuid","6208"],"eth1",["map",[]]],[["uuid","4bd7"],"br-mine",["map",[]]]],"headings":["_uuid","name","external_ids"]}
{"data":[[["uuid","dc93"],["map",[["sandbox","0123"]]]]],"headings":["_uuid","external_ids"]}
{"data":[],"headings":["_uuid","external_ids"]}
`

func TestParseDatabase(t *testing.T) {
	want := Database{
		ExternalIDs: map[string]string{"ovn-encap-ip": "192.0.2.9", "ovn-remote": " ", "system-id": "here"},
		OtherConfig: map[string]string{"bundle-idle-timeout": "180"},
		Bridges:     []string{"br-mine", "br-int"},
		Ports: []Port{
			{Bridge: "br-int", Name: "patch-a", ExternalIDs: map[string]string{"ovn-localnet-port": "physnet_n"}},
			{Bridge: "br-int", Name: "br-int"},
			{Bridge: "br-mine", Name: "eth1"},
			{Bridge: "br-mine", Name: "br-mine"},
		},
		Rows: []Row{{Table: "QoS", UUID: "dc93", ExternalIDs: map[string]string{"sandbox": "0123"}}},
	}
	got, err := parseDatabase(listedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, output := range []string{"", "ovs-vsctl: no such table", `{"data":[],"headings":[]}`} {
		if got, err := parseDatabase(output); err == nil {
			t.Errorf("%q was parsed as %v", output, got)
		}
	}
}
