// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/netip"
	"slices"

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
	var own netip.Addr // must remain reachable, not a link-local address
	if i := slices.IndexFunc(state.Addresses, func(a netip.Addr) bool { return a.Is4() == gateway.Is4() }); i >= 0 {
		own = state.Addresses[i]
	}
	pinger, err := hostnet.StartPinger(ctx, gateway, own, uplink, ovs.BridgeName)
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
