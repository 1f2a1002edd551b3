// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// outageMonitor measures how long the gateway does not respond during a
// migration: the IPv4 gateway if there is one. Without a gateway, or with one
// that ignores echo requests, it measures nothing.
type outageMonitor struct {
	gateway netip.Addr
	pinger  *hostnet.Pinger
}

func startOutageMonitor(ctx context.Context, uplink string, state ovs.AddressState) outageMonitor {
	gateways := state.Gateways()
	if len(gateways) == 0 {
		return outageMonitor{}
	}
	gateway := gateways[0]
	pinger, err := hostnet.StartPinger(ctx, gateway, sourceAddress(gateway, state.Addresses), uplink, ovs.BridgeName)
	if err != nil {
		return outageMonitor{}
	}
	return outageMonitor{gateway: gateway, pinger: pinger}
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

// sinceLastReply returns the time since the gateway's last reply.
func (o outageMonitor) sinceLastReply() (time.Duration, bool) {
	if o.pinger == nil {
		return 0, false
	}
	return o.pinger.SinceLastReply()
}

// stop ends the measurement. It returns nil if there is none.
func (o outageMonitor) stop() *hostnet.Outage {
	if o.pinger == nil {
		return nil
	}
	outage := o.pinger.Stop()
	if outage.Answered == 0 {
		return nil
	}
	return &outage
}
