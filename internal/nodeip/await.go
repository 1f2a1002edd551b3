// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
)

// pollInterval is the time between two readings of the host's addresses.
const pollInterval = 200 * time.Millisecond

// Await chooses the node's addresses on this host. It blocks until the host has
// an address of every family in previous, or until ctx ends: an IPv6 router can
// respond later than a DHCP server. When ctx ends it returns what the host has by
// then, which can be nothing, and no error.
func Await(ctx context.Context, previous Addresses) (Addresses, error) {
	for {
		current, err := Current(previous)
		if err != nil || current.covers(previous) || wait.Sleep(ctx, pollInterval) != nil {
			return current, err
		}
	}
}

// Current chooses the node's addresses from those that the host has now. It keeps present ones.
func Current(present Addresses) (Addresses, error) {
	links, err := hostnet.Links()
	if err != nil {
		return Addresses{}, err
	}
	routes, err := hostnet.DefaultRoutes()
	if err != nil {
		return Addresses{}, err
	}
	hint, err := ReadHint()
	if err != nil {
		return Addresses{}, err
	}
	chosen := Choose(links, routes, hint, present)
	chosen.IPv6First, err = PrefersIPv6()
	return chosen, err
}

// covers reports whether there is an address, and one of every family that
// previous has.
func (a Addresses) covers(previous Addresses) bool {
	return a.Primary().IsValid() &&
		(a.IPv4.IsValid() || !previous.IPv4.IsValid()) &&
		(a.IPv6.IsValid() || !previous.IPv6.IsValid())
}
