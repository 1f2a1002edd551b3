// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
)

// AddressState is the host's addressing on an interface. It must be the same on
// br-ex after the migration, and on the uplink again after a rollback.
type AddressState struct {
	Addresses          []netip.Addr    `json:"addresses"`               // those that peers use to reach the host
	DefaultRoutes      []hostnet.Route `json:"defaultRoutes,omitempty"` // the best one of each family
	Nameservers        []netip.Addr    `json:"nameservers,omitempty"`
	SearchDomains      []string        `json:"searchDomains,omitempty"`
	MTU                int             `json:"mtu,omitempty"`
	OtherDefaultRoutes []hostnet.Route `json:"otherDefaultRoutes,omitempty"` // over other interfaces
}

// AddressStateOf returns the current addressing of an interface.
func AddressStateOf(facts Facts, name string) AddressState {
	link, _ := facts.Link(name)
	device, _ := facts.Device(name)
	state := AddressState{MTU: link.MTU, Addresses: stableAddresses(link, device)}
	for _, family := range networkmanager.Families() {
		if route, ok := hostnet.DefaultRouteOf(facts.Routes, int(family), name); ok {
			state.DefaultRoutes = append(state.DefaultRoutes, route)
		}
		state.Nameservers = append(state.Nameservers, device.IP(family).Nameservers...)
		for _, search := range device.IP(family).SearchDomains {
			if !slices.Contains(state.SearchDomains, search) {
				state.SearchDomains = append(state.SearchDomains, search)
			}
		}
	}
	for _, route := range facts.Routes {
		if route.Link != name {
			state.OtherDefaultRoutes = append(state.OtherDefaultRoutes, route)
		}
	}
	return state
}

// stableAddresses returns the addresses that peers use to reach the host. It
// excludes link-local addresses and those that OVN-Kubernetes adds to br-ex.
func stableAddresses(link hostnet.Link, device networkmanager.Device) []netip.Addr {
	var stable []netip.Addr
	for _, prefix := range device.IPv4.Addresses {
		if !prefix.Addr().IsLinkLocalUnicast() {
			stable = append(stable, prefix.Addr())
		}
	}
	for _, prefix := range link.Stable() {
		if prefix.Addr().Is6() && !openvswitch.IsMasquerade(prefix) {
			stable = append(stable, prefix.Addr())
		}
	}
	return stable
}

// Gateways returns the gateways of the default routes.
func (a AddressState) Gateways() []netip.Addr {
	var gateways []netip.Addr
	for _, route := range a.DefaultRoutes {
		if route.Gateway.IsValid() {
			gateways = append(gateways, route.Gateway)
		}
	}
	return gateways
}

// Missing describes the first part of a that the interface lacks. It returns ""
// if the interface has all of a.
func (a AddressState) Missing(facts Facts, name string) string {
	link, ok := facts.Link(name)
	if !ok {
		return "the interface does not exist"
	}
	for _, address := range a.Addresses {
		if !slices.ContainsFunc(link.Addresses, func(p netip.Prefix) bool { return p.Addr() == address }) {
			return fmt.Sprintf("the address %s is missing (current addresses: %s)", address, nodeip.Format(link.Addresses))
		}
	}
	for _, want := range a.DefaultRoutes {
		if text := missingDefaultRoute(facts, want, name); text != "" {
			return text
		}
	}
	for _, other := range a.OtherDefaultRoutes {
		if !slices.ContainsFunc(facts.Routes, other.EqualExceptMetric) {
			return fmt.Sprintf("the other default route over %s is missing", other.Link)
		}
	}
	if a.MTU != 0 && link.MTU != a.MTU {
		return fmt.Sprintf("the MTU is %d instead of %d", link.MTU, a.MTU)
	}
	device, _ := facts.Device(name)
	for _, server := range a.Nameservers {
		if !slices.Contains(device.IP(networkmanager.FamilyOf(server)).Nameservers, server) {
			return fmt.Sprintf("the name server %s is not configured", server)
		}
	}
	for _, search := range a.SearchDomains {
		if !slices.Contains(device.IPv4.SearchDomains, search) && !slices.Contains(device.IPv6.SearchDomains, search) {
			return fmt.Sprintf("the search domain %s is not configured", search)
		}
	}
	return ""
}

// Unusable describes why the interface cannot carry the host's traffic at all.
// It returns "" if the interface has any address and, if a has default routes,
// at least one of them.
func (a AddressState) Unusable(facts Facts, name string) string {
	link, _ := facts.Link(name)
	if len(link.Addresses) == 0 {
		return "the interface has no address"
	}
	exists := func(route hostnet.Route) bool {
		_, ok := hostnet.DefaultRouteOf(facts.Routes, route.Family, name)
		return ok
	}
	if len(a.DefaultRoutes) > 0 && !slices.ContainsFunc(a.DefaultRoutes, exists) {
		return "the interface has no default route"
	}
	return ""
}

// missingDefaultRoute describes a default route that is missing or not preferred, or
// returns "". Routes with the same metric as the best one are equivalent, such
// as those of two IPv6 routers on the link: their order only reflects which
// router responded first.
func missingDefaultRoute(facts Facts, want hostnet.Route, name string) string {
	own, _ := hostnet.DefaultRouteOf(facts.Routes, want.Family, name)
	best, _ := hostnet.BestDefaultRoute(facts.Routes, want.Family)
	wanted := func(route hostnet.Route) bool {
		return route == hostnet.Route{Link: name, Gateway: want.Gateway, Metric: own.Metric, Family: want.Family}
	}
	switch {
	case slices.ContainsFunc(facts.Routes, wanted) && (name != BridgeName || best.Link == name):
		return ""
	case want.Gateway.IsValid():
		return fmt.Sprintf("the interface has no preferred default route via %s", want.Gateway)
	}
	return fmt.Sprintf("the interface has no preferred IPv%d default route", want.Family)
}
