// SPDX-License-Identifier: Apache-2.0

// Package stack contains the networks of the cluster for each choice of address families.
package stack

import (
	"fmt"
	"net/netip"
)

// Stack is a choice of address families, and the networks of a cluster with it. The first family is that of the API
// server, of the primary address of nodes, and of Services by default.
type Stack struct {
	Name string
	// Bridge are the addresses of the bridge of the machines. The networks are TEST-NET-1 (RFC 5737) and the prefix for
	// documentation (RFC 3849), which are not routed anywhere.
	Bridge []netip.Prefix
	// Services are the networks of Services.
	Services []string
	// InternalAPI is the address on every node's loopback interface on which the node's own API proxy listens. It is
	// HyperShift's default.
	InternalAPI netip.Addr
	// DNS is the address of the DNS Service.
	DNS netip.Addr
}

// Address returns the primary address of the bridge.
func (s Stack) Address() netip.Addr { return s.Bridge[0].Addr() }

// PrefersIPv6 reports whether IPv6 is the first or the only family.
func (s Stack) PrefersIPv6() bool { return s.Address().Is6() }

// IsDual reports whether the cluster has both families.
func (s Stack) IsDual() bool { return len(s.Bridge) > 1 }

// IPv4 returns the stack with IPv4 only.
func IPv4() Stack {
	return Stack{
		Name: "ipv4", Bridge: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}, Services: []string{"172.31.0.0/16"},
		InternalAPI: netip.MustParseAddr("172.20.0.1"), DNS: netip.MustParseAddr("172.31.0.10"),
	}
}

// Parse returns the stack with a name: ipv4, ipv6, or dual-ipv6, which has both families, IPv6 first.
func Parse(name string) (Stack, error) {
	ipv4, ipv6 := IPv4(), Stack{
		Name: name, Bridge: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::1/64")}, Services: []string{"fd02::/112"},
		InternalAPI: netip.MustParseAddr("fd00::1"), DNS: netip.MustParseAddr("fd02::a"),
	}
	switch name {
	case ipv4.Name:
		return ipv4, nil
	case "ipv6":
		return ipv6, nil
	case "dual-ipv6":
		ipv6.Bridge, ipv6.Services = append(ipv6.Bridge, ipv4.Bridge...), append(ipv6.Services, ipv4.Services...)
		return ipv6, nil
	}
	return Stack{}, fmt.Errorf("unknown stack %q: ipv4, ipv6 or dual-ipv6 is required", name)
}
