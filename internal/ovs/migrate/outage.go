// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/netip"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// measureOutage measures how long the gateway does not respond during a migration: the IPv4 gateway
// if there is one. It ends the migration with the cause that it passes to end if the gateway stops
// responding: see watchGateway. stop returns the result. It returns nil if nothing could be
// measured: without a gateway, or with one that ignores echo requests.
func measureOutage(
	ctx context.Context, uplink string, state ovs.AddressState, end context.CancelCauseFunc,
) (stop func() *hostnet.Outage) {
	nothing := func() *hostnet.Outage { return nil }
	gateways := state.Gateways()
	if len(gateways) == 0 {
		return nothing
	}
	gateway := gateways[0]
	pinger, err := hostnet.StartPinger(ctx, gateway, sourceAddress(gateway, state.Addresses), uplink, ovs.BridgeName)
	if err != nil {
		return nothing
	}
	go watchGateway(ctx, gateway, pinger.SinceLastReply, end)
	return func() *hostnet.Outage {
		outage := pinger.Stop()
		if outage.Received == 0 {
			return nil
		}
		return &outage
	}
}

// sourceAddress returns the source address for requests to a gateway: the host's
// own address must remain reachable, not a link-local one.
func sourceAddress(gateway netip.Addr, own []netip.Addr) netip.Addr {
	for _, address := range own {
		if address.Is4() == gateway.Is4() {
			return address
		}
	}
	return netip.Addr{}
}
