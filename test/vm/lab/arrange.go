// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
)

// Setup is the configuration of the lab for one kind of uplink.
type Setup struct {
	Wiring   Wiring
	Services map[int]Services // by VLAN
	// MTU is the MTU of the router and the peer. Default: 1500. The switch forwards up to 9000.
	MTU int
}

// Arrange stops all services and faults and starts the services of setup.
func (l *Lab) Arrange(ctx context.Context, setup Setup) error {
	for vlan := range l.servers {
		l.StopServices(vlan)
	}
	l.setup = setup
	if err := l.RemoveFaults(ctx); err != nil {
		return err
	}
	if err := l.addPorts(ctx); err != nil {
		return err
	}
	mtu := setup.MTU
	if mtu == 0 {
		mtu = 1500
	}
	for _, s := range Segments() {
		for _, n := range []namespace{l.router, l.peer} {
			if err := n.ip(ctx, "link", "set", s.link(), "mtu", fmt.Sprint(mtu)); err != nil {
				return err
			}
		}
	}
	for vlan := range setup.Services {
		if err := l.StartServices(ctx, vlan); err != nil {
			return err
		}
	}
	return nil
}
