// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
)

const (
	gatewayTimeout       = 5 * time.Second // without a reply of the gateway during a migration
	gatewayCheckInterval = 500 * time.Millisecond
)

// watchGateway ends a migration early when a gateway that responded before has stopped
// responding: the host would only remain unreachable longer. A gateway may also
// limit its echo replies. Therefore watchGateway first probes its hardware address.
func watchGateway(
	ctx context.Context, gateway netip.Addr, silence func() (time.Duration, bool), end context.CancelCauseFunc,
) {
	for wait.Sleep(ctx, gatewayCheckInterval) == nil {
		silent, known := silence()
		if !known || silent < gatewayTimeout {
			continue
		}
		if err := probeByRoute(ctx, gateway); err != nil && ctx.Err() == nil {
			end(fmt.Errorf("the gateway %s has not responded for %.0f s: %w", gateway, silent.Seconds(), err))
			return
		}
	}
}

// probeByRoute probes the gateway on each link with a default route to it.
// While the NIC is attached to br-ex and still has its addresses, there are two
// such links, and replies to requests from the NIC arrive on br-ex.
func probeByRoute(ctx context.Context, gateway netip.Addr) error {
	routes, err := hostnet.DefaultRoutes()
	if err != nil {
		return err
	}
	err = fmt.Errorf("no default route via %s exists", gateway)
	for _, route := range routes {
		if route.Gateway != gateway {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, gatewayTimeout)
		err = hostnet.ProbeNeighbour(limited, route.Link, gateway)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}
