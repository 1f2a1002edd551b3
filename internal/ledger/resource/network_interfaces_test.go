// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestUnusedNewBridges(t *testing.T) {
	links := []hostnet.Link{
		{Name: "lo", Index: 1, Kind: "device"},
		{Name: "eth0", Index: 2, Kind: "device"},
		{Name: "cni0", Index: 3, Kind: "bridge"},
		{Name: "virbr0", Index: 4, Kind: "bridge"},  // existed before
		{Name: "docker0", Index: 5, Kind: "bridge"}, // new, but in use
		{Name: "veth1", Index: 6, Kind: "veth", Master: 5},
		{Name: "br-ex", Index: 7, Kind: "openvswitch"}, // restored by another driver
		{Name: "bond0", Index: 8, Kind: "bond"},
		{Name: "cni1", Index: 9, Kind: "bridge", Master: 10}, // itself a port
		{Name: "vrf", Index: 10, Kind: "vrf"},
	}
	for name, test := range map[string]struct{ before, want []string }{
		"after a join":        {[]string{"lo", "eth0", "virbr0"}, []string{"cni0", "cni1"}},
		"all existed before":  {[]string{"lo", "eth0", "virbr0", "cni0", "cni1"}, nil},
		"no interface before": {nil, []string{"cni0", "virbr0", "cni1"}},
		"other names":         {[]string{"cni", "cni01"}, []string{"cni0", "virbr0", "cni1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, unusedNewBridges(links, test.before)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNetworkInterfacesAreOnlyRecorded(t *testing.T) {
	state, err := NetworkInterfaces{}.Get(t.Context(), ledger.Change{Kind: ledger.Interfaces, Target: "all"})
	if err != nil || !state.Present {
		t.Fatalf("%v, %v", state, err)
	}
	found := false
	for _, name := range state.Names {
		found = found || name == "lo"
	}
	if !found {
		t.Errorf("there is no lo among %q", state.Names)
	}
	// All current interfaces existed before: nothing is deleted.
	if err := (NetworkInterfaces{}).Restore(t.Context(), ledger.Change{}, state); err != nil {
		t.Error(err)
	}
}
