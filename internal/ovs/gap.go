package ovs

import (
	"context"
	"net/netip"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// measureGap measures how long a gateway does not answer, IPv4's where there
// is one; the function that it returns ends that. Nothing is measured when it
// does not answer echoes.
func measureGap(ctx context.Context, uplink string, carried Carried) func() *host.Outage {
	nothing := func() *host.Outage { return nil }
	gateways := carried.gateways()
	if len(gateways) == 0 {
		return nothing
	}
	echo, err := host.StartEcho(ctx, gateways[0], sourceFor(gateways[0], carried.Stable), uplink, BridgeName)
	if err != nil {
		return nothing
	}
	return func() *host.Outage {
		outage := echo.Stop()
		if outage.Answered == 0 {
			return nil
		}
		return &outage
	}
}

// sourceFor is the address that a gateway is asked from: it is the host's own
// that has to stay in reach, not a link-local one.
func sourceFor(gateway netip.Addr, own []netip.Addr) netip.Addr {
	for _, address := range own {
		if address.Is4() == gateway.Is4() {
			return address
		}
	}
	return netip.Addr{}
}
