// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// TunnelPeers returns the addresses of the other ends of the Geneve tunnels, sorted. ovn-controller creates a tunnel to
// each other node, with the address that the nodes use for the overlay network.
func TunnelPeers(ctx context.Context) ([]netip.Addr, error) {
	output, err := vsctl(ctx, "--no-wait", "--format=json", "--columns=options", "find", "Interface", "type=geneve")
	if err != nil {
		return nil, fmt.Errorf("reading the tunnels of Open vSwitch: %w", err)
	}
	return parseTunnels(output)
}

func parseTunnels(output string) ([]netip.Addr, error) {
	var table struct{ Data [][]pairs }
	if err := json.Unmarshal([]byte(output), &table); err != nil {
		return nil, fmt.Errorf("parsing the output of ovs-vsctl: %w", err)
	}
	var peers []netip.Addr
	for _, row := range table.Data {
		for _, options := range row {
			if peer, err := netip.ParseAddr(options["remote_ip"]); err == nil { // else "flow": any peer
				peers = append(peers, peer.Unmap())
			}
		}
	}
	slices.SortFunc(peers, netip.Addr.Compare)
	return slices.Compact(peers), nil
}
