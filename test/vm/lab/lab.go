// SPDX-License-Identifier: Apache-2.0

// Package lab provides a network environment for machines of package vm. It has a switch with
// VLANs and LACP (Open vSwitch in userspace), and on each network a router with DHCP, DHCPv6,
// router advertisements and DNS. A peer measures from outside, and faults can be simulated. The
// lab uses network namespaces of its own and ends with this process. It needs root and the
// commands of Open vSwitch.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Lab is a running lab. Its methods are not safe for concurrent use.
type Lab struct {
	dir     string
	fabric  virtualSwitch
	router  namespace
	peer    namespace
	ports   []*port
	servers map[int]*child.Child // by VLAN
	setup   Setup
}

// PortCount is the number of switch ports for a machine.
const PortCount = 2

// Open creates a lab without any services; see [Lab.Arrange].
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
	for i := range PortCount {
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

// NICs returns network cards for [vm.Config] that are attached to the switch. All cables but the
// first are unplugged.
func (l *Lab) NICs() []vm.NIC {
	var nics []vm.NIC
	for i, p := range l.ports {
		nics = append(nics, vm.NIC{Network: vm.Network{Namespace: l.fabric.path, Switch: p}, Unplugged: i > 0})
	}
	return nics
}

// Close stops the lab.
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
