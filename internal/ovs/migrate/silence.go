package migrate

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

const (
	silenceLimit = 5 * time.Second // that a gateway may go without an answer during a move
	silenceEvery = 500 * time.Millisecond
)

// watch ends a move early when the gateway, which answered before, has fallen
// silent: every further second would only keep the host out of reach. A gateway
// that merely has stopped to answer echo requests, as some do when there are
// many, is asked for its hardware address before.
func watch(ctx context.Context, gateway netip.Addr, silence func() (time.Duration, bool), end context.CancelCauseFunc) {
	again := time.NewTicker(silenceEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		silent, known := silence()
		if !known || silent < silenceLimit {
			continue
		}
		if err := probeByRoute(ctx, gateway); err != nil && ctx.Err() == nil {
			end(fmt.Errorf("the gateway %s has not answered for %.0f s: %w", gateway, silent.Seconds(), err))
			return
		}
	}
}

// probeByRoute asks the gateway on the links that default routes lead to it over:
// while the NIC is plugged into br-ex and still has its addresses, there are
// two, and what the NIC asks for is answered on br-ex.
func probeByRoute(ctx context.Context, gateway netip.Addr) error {
	routes, err := host.DefaultRoutes()
	if err != nil {
		return err
	}
	err = fmt.Errorf("there is no default route via %s", gateway)
	for _, route := range routes {
		if route.Gateway != gateway {
			continue
		}
		if err = probeOnLink(ctx, route.Link, gateway); err == nil {
			return nil
		}
	}
	return err
}

func probeOnLink(ctx context.Context, link string, gateway netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, silenceLimit)
	defer cancel()
	_, err := host.AskNeighbour(ctx, link, gateway)
	return err
}
