// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"errors"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestRemainingThingsComeWithTheirCommands(t *testing.T) {
	list := listLeftovers(networkFacts{
		Database: &openvswitch.Database{Bridges: []openvswitch.Bridge{{Name: "br-int"}}},
		NFTables: []nfTable{{Family: "inet", Name: "ovn-kubernetes"}},
	})
	err := remaining(list, map[string]error{list[0].Key: errors.New("table is busy")})
	const want = "objects of the network plugin remain on this host: " +
		"nft delete table inet ovn-kubernetes (table is busy); ovs-vsctl --timeout=10 --if-exists del-br br-int"
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	const remedy = "systemctl start openvswitch\nnft delete table inet ovn-kubernetes\n" +
		"ovs-vsctl --timeout=10 --if-exists del-br br-int"
	if got := report.RemedyOf(err); got != remedy {
		t.Errorf("remedy %q, want %q", got, remedy)
	}
	if err := remaining(nil, nil); err != nil {
		t.Errorf("nothing remains, error %v", err)
	}
}
