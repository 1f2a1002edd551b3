package ovs

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// AwaitNodeIP chooses the node's addresses, and gives those families that the
// node had before until the end of ctx to appear: an IPv6 router can answer
// later than a DHCP server. What is there then counts; it can be nothing.
func AwaitNodeIP(ctx context.Context, had NodeIPs) (NodeIPs, error) {
	var chosen NodeIPs
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		var err error
		if chosen, err = lookNodeIP(); err != nil || chosen.covers(had) {
			return chosen, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return chosen, nil
		}
	}
}

func lookNodeIP() (NodeIPs, error) {
	links, err := host.Links()
	if err != nil {
		return NodeIPs{}, err
	}
	routes, err := host.DefaultRoutes()
	if err != nil {
		return NodeIPs{}, err
	}
	hint, err := readNodeIPHint()
	return NodeIP(links, routes, hint), err
}

// covers tells whether there is an address, and one of each family that there
// was one of.
func (n NodeIPs) covers(had NodeIPs) bool {
	return n.Primary().IsValid() && (n.IPv4.IsValid() || !had.IPv4.IsValid()) && (n.IPv6.IsValid() || !had.IPv6.IsValid())
}
