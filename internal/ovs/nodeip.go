package ovs

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// NodeIPs are the addresses by which the cluster knows a node, at most one of
// each family.
type NodeIPs struct {
	IPv4, IPv6 netip.Addr // invalid: none
}

// Primary is IPv4 where there is one, as nodeip-configuration has it without
// --prefer-ipv6.
func (n NodeIPs) Primary() netip.Addr {
	if n.IPv4.IsValid() {
		return n.IPv4
	}
	return n.IPv6
}

// All lists them, the primary first.
func (n NodeIPs) All() []netip.Addr {
	var all []netip.Addr
	for _, address := range []netip.Addr{n.IPv4, n.IPv6} {
		if address.IsValid() {
			all = append(all, address)
		}
	}
	return all
}

// NodeIP chooses as nodeip-configuration.service does (baremetal-runtimecfg,
// pkg/utils/addresses_linux.go): with a hint, addresses whose subnet holds it;
// else those on links with a default route, ordered by the route's metric, the
// link's index, whether the gateway is on the subnet, and public before
// private.
func NodeIP(links []host.Link, routes []host.Route, hint string) NodeIPs {
	var candidates []candidate
	for _, link := range links {
		for _, prefix := range link.Lasting() {
			if c, ok := newCandidate(link, prefix, routes, hint); ok {
				candidates = append(candidates, c)
			}
		}
	}
	slices.SortStableFunc(candidates, candidate.compare)
	var chosen NodeIPs
	for _, c := range candidates {
		switch {
		case c.address.Is4() && !chosen.IPv4.IsValid():
			chosen.IPv4 = c.address
		case c.address.Is6() && !chosen.IPv6.IsValid():
			chosen.IPv6 = c.address
		}
	}
	return chosen
}

type candidate struct {
	address   netip.Addr
	metric    int
	index     int
	offSubnet int // 1 when the gateway is not on the address's subnet
	private   int // 1 for RFC 1918 and unique local addresses
}

func newCandidate(link host.Link, prefix netip.Prefix, routes []host.Route, hint string) (candidate, bool) {
	address := prefix.Addr()
	if masquerade(prefix) {
		return candidate{}, false
	}
	c := candidate{address: address, index: link.Index, private: number(address.IsPrivate())}
	if hint != "" {
		return c, holdsHint(link.Subnet(prefix), hint)
	}
	family := 4
	if address.Is6() {
		family = 6
	}
	route, ok := routeOf(routes, family, link.Name)
	c.metric = route.Metric
	c.offSubnet = number(route.Gateway.IsValid() && !link.Subnet(prefix).Contains(route.Gateway))
	return c, ok
}

func holdsHint(subnet netip.Prefix, hint string) bool {
	for _, text := range strings.Fields(strings.ReplaceAll(hint, ",", " ")) {
		if address, err := netip.ParseAddr(text); err == nil && subnet.Contains(address) {
			return true
		}
	}
	return false
}

func (c candidate) compare(other candidate) int {
	return cmp.Or(
		cmp.Compare(c.metric, other.metric), cmp.Compare(c.index, other.index),
		cmp.Compare(c.offSubnet, other.offSubnet), cmp.Compare(c.private, other.private))
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
