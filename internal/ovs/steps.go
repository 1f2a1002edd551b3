package ovs

import (
	"math"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// metricPenalty is added to the NIC's metrics for the routes of the copy, so that
// traffic keeps to the NIC until it gives its addresses up.
const metricPenalty = 300

// IPState is what the host has, by family.
type IPState map[networkmanager.Family]networkmanager.IP

// StaticSettings is ovs-if-br-ex as long as the NIC still has the addresses: the same
// addresses, gateways, routes and name servers, set by hand, with worse
// metrics. Nothing is asked for yet: the bridge has no cable.
func StaticSettings(final networkmanager.Settings, now IPState) networkmanager.Settings {
	s := WithoutAutoconnect(final)
	for _, family := range networkmanager.Families() {
		setStatic(s, family, now[family], metricPenalty)
	}
	return s
}

// staticFinalMetric is the copy with the metrics that br-ex has in the end: with two
// uplinks, routes of the other one can be better than those of the copy, and
// would take the traffic in the moment when the NIC gives its own up.
func staticFinalMetric(final networkmanager.Settings, now IPState) networkmanager.Settings {
	s := WithoutAutoconnect(final)
	for _, family := range networkmanager.Families() {
		metric := s.Long(family.Section(), "route-metric")
		setStatic(s, family, now[family], 0)
		if s.Method(family) == "manual" {
			s.Set(family.Section(), "route-metric", metric)
		}
	}
	return s
}

// staticProperties are the properties of a family that the copy has too.
var staticProperties = []string{
	"method", "dns", "dns-data", "dns-search", "dns-options", "dns-priority", "never-default",
	"gateway", "route-data", "route-table", "routing-rules", "addr-gen-mode", "token", "ip6-privacy",
}

// setStatic sets by hand what a family has now.
func setStatic(s networkmanager.Settings, family networkmanager.Family, now networkmanager.IP, worse uint32) {
	section := family.Section()
	switch {
	case !HasAddresses(s, family):
		return // stays disabled, link-local, or nobody's business
	case len(now.Addresses) == 0:
		s.Keep(section)
		s.Set(section, "method", map[networkmanager.Family]string{networkmanager.IPv4: "disabled", networkmanager.IPv6: "link-local"}[family])
		return
	}
	s.Keep(section, staticProperties...)
	s.Set(section, "method", "manual")
	s.Set(section, "route-metric", int64(MetricOf(now)+worse))
	s.Rewrite(section, "route-data", func(key string, v any) any {
		if metric, ok := v.(uint32); ok && key == "metric" {
			return metric + worse
		}
		return v
	})
	kept := missingFrom(s, family, now)
	for i := range kept.Routes {
		if kept.Routes[i].Metric > 0 {
			kept.Routes[i].Metric += worse
		}
	}
	s.SetIP(family, kept)
	keepSearches(s, family, now)
}

// keepSearches sets the search domains that a family has now, from whoever.
func keepSearches(s networkmanager.Settings, family networkmanager.Family, now networkmanager.IP) {
	if len(now.Searches) > 0 {
		s.Set(family.Section(), "dns-search", now.Searches)
	}
}

// dhcpSettings asks for an IPv4 lease while the copy is kept: going from a manual
// address to DHCP in one step takes the address away until the lease is there.
// IPv6 is as it shall be in the end: NetworkManager forgets router
// advertisements at every reapply that changes the section, so that a step in
// between would not help.
func dhcpSettings(final networkmanager.Settings, now IPState) networkmanager.Settings {
	return WithStaticAddresses(WithoutAutoconnect(final), networkmanager.IPv4, now)
}

// WithStaticAddresses is a profile that has addresses beside those that it asks for,
// however long the DHCP server takes.
func WithStaticAddresses(asking networkmanager.Settings, family networkmanager.Family, now IPState) networkmanager.Settings {
	s := asking.Clone()
	if !IsDynamic(s, family) || len(now[family].Addresses) == 0 {
		return s
	}
	kept := missingFrom(s, family, now[family])
	for i := range kept.Routes {
		kept.Routes[i].Metric = 0 // the profile's
	}
	s.SetIP(family, kept)
	keepSearches(s, family, now[family])
	if family == networkmanager.IPv4 {
		s.Set("ipv4", "dhcp-timeout", int32(math.MaxInt32)) // infinity
	}
	return s
}

// HasAddresses tells whether a family of a profile carries addresses of the host.
func HasAddresses(s networkmanager.Settings, family networkmanager.Family) bool {
	return s.Method(family) == "manual" || IsDynamic(s, family)
}

// IsDynamic tells whether a family gets addresses from DHCP or from routers.
func IsDynamic(s networkmanager.Settings, family networkmanager.Family) bool {
	return s.Method(family) == "auto" || (family == networkmanager.IPv6 && s.Method(family) == "dhcp")
}

// missingFrom is what a profile has to set by hand to have what is there now: not
// the routes that follow from the addresses, nor those that it has anyway.
func missingFrom(s networkmanager.Settings, family networkmanager.Family, now networkmanager.IP) networkmanager.IP {
	kept := now
	if never, _ := s[family.Section()]["never-default"].Value().(bool); never {
		kept.Gateway = netip.Addr{} // somebody else's, and invalid beside it
	}
	kept.Routes = nil
	for _, route := range now.Routes {
		if !isImplied(route, now) && !hasRoute(s.Routes(family), route) {
			kept.Routes = append(kept.Routes, route)
		}
	}
	return kept
}

const localTable = 255

// isImplied tells the routes that NetworkManager or the kernel makes by itself.
func isImplied(route networkmanager.Route, now networkmanager.IP) bool {
	destination := route.Destination
	switch {
	case route.Table == localTable, destination.Addr().IsMulticast(), destination.Addr().IsLinkLocalUnicast():
		return true
	case route.Gateway.IsValid():
		return destination.Bits() == 0 && route.Table == 0 && route.Gateway == now.Gateway
	}
	return slices.ContainsFunc(now.Addresses, func(address netip.Prefix) bool { return address.Masked() == destination }) ||
		(destination.IsSingleIP() && destination.Addr() == now.Gateway)
}

// hasRoute tells whether a profile has the route.
func hasRoute(routes []networkmanager.Route, route networkmanager.Route) bool {
	return slices.ContainsFunc(routes, func(own networkmanager.Route) bool {
		return own.Destination == route.Destination && (own.Table == 0 || own.Table == route.Table)
	})
}

// ethernetMetric is what NetworkManager gives the routes of an Ethernet
// interface by itself.
const ethernetMetric = 100

// MetricOf is the metric of the best default route, else that of any route.
func MetricOf(now networkmanager.IP) uint32 {
	best, found := uint32(0), false
	for _, route := range now.Routes {
		if route.Destination.Bits() == 0 && (!found || route.Metric < best) {
			best, found = route.Metric, true
		}
	}
	for _, route := range now.Routes {
		if !found && !route.Destination.Addr().IsLinkLocalUnicast() {
			best, found = route.Metric, true
		}
	}
	if !found {
		return ethernetMetric
	}
	return best
}
