// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// host is a generated host.
type host struct {
	links  []hostnet.Link
	routes []hostnet.Route
	hint   string
}

// Choose is compared with the rules of baremetal-runtimecfg on generated hosts. The comment of Choose lists where it
// differs; those hosts are not generated.
func TestChooseAsRuntimecfg(t *testing.T) {
	const hosts = 20_000
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	chosen, hinted := 0, 0
	for range hosts {
		h := newHost(random)
		got := Choose(h.links, h.routes, h.hint, Addresses{})
		possible, isHinted := h.expected()
		if !slices.Contains(possible, got) {
			t.Fatalf("host %+v: %v, want one of %v", h, got.All(), possible)
		}
		if got.Primary().IsValid() {
			chosen++
		}
		if isHinted {
			hinted++
		}
	}
	if chosen < hosts/3 || hinted < hosts/20 {
		t.Errorf("of %d hosts, only %d have an address, %d by a hint", hosts, chosen, hinted)
	}
}

func newHost(random *rand.Rand) host {
	var h host
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	isUsed := map[string]bool{}
	for index := range 1 + random.IntN(3) {
		name := fmt.Sprintf("eth%d", index)
		l := hostnet.Link{Name: name, Index: 2 + index}
		for range random.IntN(5) {
			// The third part of an IPv4 address is the link, so that only one link matches a hint.
			text := pick(fmt.Sprintf("192.0.%d.%d/24", index, 10+random.IntN(5)),
				fmt.Sprintf("10.0.%d.%d/24", index, 10+random.IntN(5)), fmt.Sprintf("10.0.%d.7/32", index),
				fmt.Sprintf("2001:db8:%d::%x/64", index, 16+random.IntN(5)),
				fmt.Sprintf("fd00:%d::%x/64", index, 16+random.IntN(5)),
				fmt.Sprintf("2001:db8:%d::7/128", index), "169.254.0.2/17", "fd69::2/112")
			if !isUsed[text] {
				isUsed[text] = true
				l.Addresses = append(l.Addresses, netip.MustParsePrefix(text))
			}
		}
		if random.IntN(2) == 0 {
			l.Advertised = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("2001:db8:%d::/64", index))}
		}
		h.links = append(h.links, l)
		for range random.IntN(3) {
			h.routes = append(h.routes, route(name, 4, 100+random.IntN(3), pick("", fmt.Sprintf("192.0.%d.1", index),
				fmt.Sprintf("10.0.%d.1", index), "203.0.113.1")))
		}
		for range random.IntN(3) {
			h.routes = append(h.routes, route(name, 6, 100+random.IntN(3), pick("", "fe80::1",
				fmt.Sprintf("2001:db8:%d::1", index), fmt.Sprintf("fd00:%d::1", index))))
		}
	}
	// The kernel lists IPv4 routes first, and the routes of a family by metric.
	slices.SortStableFunc(h.routes, func(a, b hostnet.Route) int {
		if a.Family != b.Family {
			return a.Family - b.Family
		}
		return a.Metric - b.Metric
	})
	h.hint = pick("", "", "203.0.113.9", "192.0.0.1", "10.0.1.1", "2001:db8:0::1", "fd00:1::1", "192.0.1.1 2001:db8:1::1")
	random.Shuffle(len(h.links), func(i, j int) { h.links[i], h.links[j] = h.links[j], h.links[i] })
	return h
}

// expected returns the addresses that runtimecfg can choose, and whether the hint chose them. Which of the addresses
// that match a hint it takes depends on the order in which the kernel lists them.
func (h host) expected() (possible []Addresses, isHinted bool) {
	for _, l := range h.links {
		for _, first := range h.usable(l) {
			if !h.isHinted(l, first) {
				continue
			}
			chosen := Addresses{}
			chosen.set(first.Addr())
			possible = append(possible, chosen)
			isHinted = true
			for _, second := range h.usable(l) {
				if second.Addr().Is4() != first.Addr().Is4() {
					both := chosen
					both.set(second.Addr())
					possible = append(possible, both)
				}
			}
		}
	}
	if isHinted {
		return slices.DeleteFunc(possible, func(a Addresses) bool { // one of each family that the link has
			return slices.ContainsFunc(possible, func(b Addresses) bool {
				return len(b.All()) > len(a.All()) && slices.Contains(b.All(), a.Primary())
			})
		}), true
	}
	return []Addresses{h.expectedByRoute()}, false
}

// isHinted reports whether the hint chooses an address: it is in its subnet, or for a single IPv6 address in that of
// the router advertisement.
func (h host) isHinted(l hostnet.Link, address netip.Prefix) bool {
	subnet := address.Masked()
	if address.Addr().Is6() && address.IsSingleIP() {
		if len(l.Advertised) == 0 {
			return false
		}
		subnet = netip.PrefixFrom(address.Addr(), l.Advertised[0].Bits()).Masked()
	}
	return MatchesHint(subnet, h.hint)
}

func (host) usable(l hostnet.Link) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(l.Addresses), openvswitch.IsMasquerade)
}

// expectedByRoute returns the first address of each family in the order of runtimecfg.
func (h host) expectedByRoute() Addresses {
	var best Addresses
	var bestKeys [2][]int
	for _, l := range h.links {
		at := slices.IndexFunc(h.routes, func(r hostnet.Route) bool { return r.Link == l.Name })
		if at < 0 {
			continue
		}
		first := h.routes[at]
		for _, prefix := range h.usable(l) {
			address := prefix.Addr()
			key := []int{first.Metric, l.Index, 1, 1}
			if first.Gateway.IsValid() && prefix.Contains(first.Gateway) {
				key[2] = 0
			}
			if !address.IsPrivate() {
				key[3] = 0
			}
			for _, part := range address.As16() {
				key = append(key, int(part))
			}
			family := toInt(address.Is6())
			if bestKeys[family] == nil || slices.Compare(key, bestKeys[family]) < 0 {
				bestKeys[family] = key
				best.set(address)
			}
		}
	}
	return best
}
