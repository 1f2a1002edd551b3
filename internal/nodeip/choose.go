// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Addresses holds the addresses of a node, at most one of each family.
type Addresses struct {
	IPv4, IPv6 netip.Addr // invalid: none
	IPv6First  bool       // the primary address is the IPv6 address, if there is one
}

// Primary returns the IPv4 address if there is one, else the IPv6 address. With
// IPv6First, it is the reverse.
func (a Addresses) Primary() netip.Addr {
	if all := a.All(); len(all) > 0 {
		return all[0]
	}
	return netip.Addr{}
}

// All returns the valid addresses, the primary first.
func (a Addresses) All() []netip.Addr {
	all := []netip.Addr{a.IPv4, a.IPv6}
	if a.IPv6First {
		slices.Reverse(all)
	}
	return slices.DeleteFunc(all, func(address netip.Addr) bool { return !address.IsValid() })
}

// Format returns addresses for messages, separated by commas, or "none" if there are none.
func Format[T fmt.Stringer](addresses []T) string {
	return cmp.Or(strings.Join(lists.Map(addresses, T.String), ", "), "none")
}

// Choose returns the addresses that nodeip-configuration.service would choose
// (baremetal-runtimecfg, pkg/utils/addresses_linux.go). With a hint it considers
// the addresses whose subnet contains the hint, and for the other family those on the same link. Else, or if there are
// none, it considers the addresses on links with a default route of any family. It prefers the lower route metric, then
// the lower link index, the address that the node has, a gateway on the address's subnet, public before private
// addresses, and the lower address. Choose never sets IPv6First.
//
// It differs from the service in what would be worse for a node:
//   - The service does not know the addresses that the node has: there, an address that is added to the link can
//     replace one of them.
//   - The service can choose a temporary address, and OVN-Kubernetes' own address.
//   - If several links match a hint, the service takes one of them at random. An address that equals the hint does not
//     match there.
//   - In the service, the primary family of a node with two uplinks is that of the lower metric.
func Choose(links []hostnet.Link, routes []hostnet.Route, hint string, present Addresses) Addresses {
	if hint != "" && !HasHinted(links, hint) {
		hint = ""
	}
	var candidates []candidate
	for _, link := range links {
		for _, prefix := range link.Stable() {
			if c, ok := newCandidate(link, prefix, routes, hint); ok {
				c.added = toInt(!slices.Contains(present.All(), c.address))
				candidates = append(candidates, c)
			}
		}
	}
	slices.SortStableFunc(candidates, candidate.compare)
	var chosen Addresses
	for _, c := range slices.Backward(candidates) { // the best one last
		chosen.set(c.address)
	}
	return chosen
}

// set sets the address of a family.
func (a *Addresses) set(address netip.Addr) {
	if address.Is4() {
		a.IPv4 = address
	} else {
		a.IPv6 = address
	}
}

// HasHinted reports whether a subnet of the host contains one of the hint's addresses.
func HasHinted(links []hostnet.Link, hint string) bool {
	return slices.ContainsFunc(links, func(link hostnet.Link) bool {
		return slices.ContainsFunc(link.Stable(), func(prefix netip.Prefix) bool {
			return !openvswitch.IsMasquerade(prefix) && MatchesHint(link.Subnet(prefix), hint)
		})
	})
}

type candidate struct {
	address   netip.Addr
	unhinted  int // 1 if only another address of the link is in a subnet of the hint
	metric    int
	index     int
	added     int // 1 unless the node has the address
	offSubnet int // 1 if the gateway is not on the address's subnet
	private   int // 1 for RFC 1918 and unique local addresses
}

func newCandidate(link hostnet.Link, prefix netip.Prefix, routes []hostnet.Route, hint string) (candidate, bool) {
	address := prefix.Addr()
	if openvswitch.IsMasquerade(prefix) {
		return candidate{}, false
	}
	c := candidate{address: address, index: link.Index, private: toInt(address.IsPrivate())}
	if hint != "" {
		c.unhinted = toInt(!MatchesHint(link.Subnet(prefix), hint))
		return c, HasHinted([]hostnet.Link{link}, hint)
	}
	route, ok := hostnet.DefaultRouteOf(routes, 4, link.Name)
	if !ok {
		route, ok = hostnet.DefaultRouteOf(routes, 6, link.Name)
	}
	c.metric = route.Metric
	c.offSubnet = toInt(route.Gateway.IsValid() && !prefix.Contains(route.Gateway))
	return c, ok
}

func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(c.unhinted, other.unhinted), cmp.Compare(c.metric, other.metric),
		cmp.Compare(c.index, other.index), cmp.Compare(c.added, other.added), cmp.Compare(c.offSubnet, other.offSubnet),
		cmp.Compare(c.private, other.private), c.address.Compare(other.address))
}

func toInt(isSet bool) int {
	if isSet {
		return 1
	}
	return 0
}
