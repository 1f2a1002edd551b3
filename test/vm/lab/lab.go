// Package lab is a small data centre for machines of package vm: a switch that
// knows VLANs and LACP (Open vSwitch in user space), a router with DHCP,
// DHCPv6, router advertisements and DNS on each network, a peer that measures
// from outside, and faults. It lives in network namespaces of its own and ends
// with this process. It needs root and Open vSwitch's programs.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Lab is a running one. Its methods are for one caller.
type Lab struct {
	dir     string
	fabric  fabric
	router  namespace
	peer    namespace
	ports   []*port
	servers map[int]*child.Child // by VLAN
	setup   Setup
}

// Ports is how many sockets the switch has for a machine.
const Ports = 2

// Open makes a lab in which nothing is served yet; see [Lab.Arrange].
func Open(ctx context.Context) (*Lab, error) {
	l := &Lab{servers: map[int]*child.Child{}}
	if err := l.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("making a lab: %w", err), l.Close())
	}
	return l, nil
}

func (l *Lab) open(ctx context.Context) error {
	var err error
	if l.dir, err = os.MkdirTemp("", "lab"); err != nil {
		return err
	}
	for _, n := range []*namespace{&l.fabric.namespace, &l.router, &l.peer} {
		if *n, err = newNamespace(ctx); err != nil {
			return err
		}
	}
	if err := l.fabric.start(ctx, l.dir); err != nil {
		return err
	}
	for i := range Ports {
		l.ports = append(l.ports, &port{lab: l, number: i})
	}
	for _, s := range Segments() {
		if err := l.attach(ctx, s, l.router, "gw", s.Gateway4.Addr(), s.Gateway6.Addr()); err != nil {
			return err
		}
		if err := l.attach(ctx, s, l.peer, "peer", s.Peer4, s.Peer6); err != nil {
			return err
		}
	}
	return l.listen()
}

// NICs are for [vm.Config]: cards plugged into the switch, all but the first
// with their cables out.
func (l *Lab) NICs() []vm.NIC {
	var nics []vm.NIC
	for i, p := range l.ports {
		nics = append(nics, vm.NIC{Network: vm.Network{Namespace: l.fabric.path, Switch: p}, Loose: i > 0})
	}
	return nics
}

// Close ends the lab.
func (l *Lab) Close() error {
	for vlan := range l.servers {
		l.StopServices(vlan)
	}
	l.fabric.stop()
	for _, n := range []namespace{l.peer, l.router, l.fabric.namespace} {
		n.close()
	}
	return os.RemoveAll(l.dir)
}
