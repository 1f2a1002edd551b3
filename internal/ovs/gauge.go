package ovs

import (
	"context"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// gauge measures how long the gateway does not answer during a move. One
// without a gateway, or whose gateway ignores echo requests, measures nothing.
type gauge struct{ echo *host.Echo }

func startGauge(ctx context.Context, gateway netip.Addr) gauge {
	if !gateway.Is4() {
		return gauge{}
	}
	echo, err := host.StartEcho(ctx, gateway)
	if err != nil {
		return gauge{}
	}
	return gauge{echo: echo}
}

// silence is how long the gateway has not answered by now.
func (g gauge) silence() (time.Duration, bool) {
	if g.echo == nil {
		return 0, false
	}
	return g.echo.Silence()
}

// stop ends the measurement; nil when there is none.
func (g gauge) stop() *host.Outage {
	if g.echo == nil {
		return nil
	}
	outage := g.echo.Stop()
	if outage.Answered == 0 {
		return nil
	}
	return &outage
}
