// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"math"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// MetricPenalty is added to the NIC's metrics for the static routes of br-ex,
// so that traffic uses the NIC until its addresses are removed.
const MetricPenalty = 300

// IPState is the host's IP configuration by family.
type IPState map[networkmanager.Family]networkmanager.IP

// StagedProfiles are the intermediate settings of ovs-if-br-ex, in their order.
type StagedProfiles struct {
	// Static has the current addresses, with higher metrics than the NIC's.
	Static networkmanager.Settings `json:"static"`
	// StaticFinalMetric has the final metrics. It is nil without a competing route.
	StaticFinalMetric networkmanager.Settings `json:"staticFinalMetric,omitempty"`
	// DHCP has DHCP and static addresses, until there is a lease.
	DHCP networkmanager.Settings `json:"dhcp"`
}

// NewStagedProfiles returns the stages before the final settings. DHCP requests an IPv4 lease while the static
// addresses are kept. Going from a manual address to DHCP in one step removes the address until there is a lease.
//
// IPv6 has its final settings already: NetworkManager discards router advertisements at every reapply that changes
// the section, so that an intermediate step would not help.
func NewStagedProfiles(final networkmanager.Settings, now IPState, hasCompetingRoute bool) StagedProfiles {
	staged := StagedProfiles{
		Static: StaticSettings(final, now),
		DHCP:   WithStaticAddresses(WithoutAutoconnect(final), networkmanager.IPv4, now),
	}
	if hasCompetingRoute {
		// Routes of another uplink can be better than the static routes of br-ex, and would attract the traffic
		// when the NIC loses its addresses.
		staged.StaticFinalMetric = staticSettings(final, now, 0)
	}
	return staged
}

// StaticSettings returns ovs-if-br-ex for the time in which the NIC still has
// the addresses: the same addresses, gateways, routes and name servers as
// static settings, with higher metrics. DHCP cannot be used yet, because the
// bridge has no uplink.
func StaticSettings(final networkmanager.Settings, now IPState) networkmanager.Settings {
	return staticSettings(final, now, MetricPenalty)
}

// staticSettings returns the static settings with metrics that are worse than the NIC's, or with the final metrics
// of br-ex if worse is 0.
func staticSettings(final networkmanager.Settings, now IPState, worse uint32) networkmanager.Settings {
	s := WithoutAutoconnect(final)
	for _, family := range networkmanager.Families() {
		metric := s.Int64(family.Section(), "route-metric")
		setStatic(s, family, now[family], worse)
		if worse == 0 && s.Method(family) == "manual" {
			s.Set(family.Section(), "route-metric", metric)
		}
	}
	return s
}

// staticProperties lists the properties of a family that the static settings
// keep.
var staticProperties = []string{
	"method", "dns", "dns-data", "dns-search", "dns-options", "dns-priority", "never-default",
	"gateway", "route-data", "route-table", "routing-rules", "addr-gen-mode", "token", "ip6-privacy",
}

// setStatic replaces the settings of a family by its current addresses and
// routes.
func setStatic(s networkmanager.Settings, family networkmanager.Family, now networkmanager.IP, worse uint32) {
	section := family.Section()
	switch {
	case !HasAddresses(s, family):
		return // remains disabled, link-local or ignored
	case len(now.Addresses) == 0:
		s.Keep(section)
		s.Set(section, "method", "disabled")
		if family == networkmanager.IPv6 {
			s.Set(section, "method", "link-local")
		}
		return
	}
	s.Keep(section, staticProperties...)
	s.Set(section, "method", "manual")
	s.Set(section, "route-metric", int64(MetricOf(now)+worse))
	s.RewriteMaps(section, "route-data", func(key string, v any) any {
		if metric, ok := v.(uint32); ok && key == "metric" {
			return metric + worse
		}
		return v
	})
	kept := missingStaticIP(s, family, now)
	for i := range kept.Routes {
		if kept.Routes[i].Metric > 0 {
			kept.Routes[i].Metric += worse
		}
	}
	s.SetIP(family, kept)
	setSearchDomains(s, family, now)
}

// setSearchDomains sets the current search domains of a family, from any source.
func setSearchDomains(s networkmanager.Settings, family networkmanager.Family, now networkmanager.IP) {
	if len(now.SearchDomains) > 0 {
		s.Set(family.Section(), "dns-search", now.SearchDomains)
	}
}

// WithStaticAddresses returns a profile with DHCP that also has the current
// addresses, regardless of how long the DHCP server takes.
func WithStaticAddresses(
	settings networkmanager.Settings, family networkmanager.Family, now IPState,
) networkmanager.Settings {
	s := settings.Clone()
	if !IsDynamic(s, family) || len(now[family].Addresses) == 0 {
		return s
	}
	kept := missingStaticIP(s, family, now[family])
	for i := range kept.Routes {
		kept.Routes[i].Metric = 0 // use the profile's metric
	}
	s.SetIP(family, kept)
	setSearchDomains(s, family, now[family])
	if family == networkmanager.IPv4 {
		s.Set("ipv4", "dhcp-timeout", int32(math.MaxInt32)) // infinity
	}
	return s
}

// HasAddresses reports whether a family of a profile configures addresses of
// the host.
func HasAddresses(s networkmanager.Settings, family networkmanager.Family) bool {
	return s.Method(family) == "manual" || IsDynamic(s, family)
}

// IsDynamic reports whether a family gets addresses from DHCP or from routers.
func IsDynamic(s networkmanager.Settings, family networkmanager.Family) bool {
	return s.Method(family) == "auto" || (family == networkmanager.IPv6 && s.Method(family) == "dhcp")
}

// missingStaticIP returns the addresses, routes and gateway that a profile must set
// statically to match now. It excludes routes that follow from the addresses
// and routes of the profile.
func missingStaticIP(s networkmanager.Settings, family networkmanager.Family, now networkmanager.IP) networkmanager.IP {
	kept := now
	if never, _ := s[family.Section()]["never-default"].Value().(bool); never {
		kept.Gateway = netip.Addr{} // from another source, and invalid with never-default
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

// isImplied reports whether NetworkManager or the kernel adds the route
// automatically.
func isImplied(route networkmanager.Route, now networkmanager.IP) bool {
	destination := route.Destination
	switch {
	case route.Table == localTable, destination.Addr().IsMulticast(), destination.Addr().IsLinkLocalUnicast():
		return true
	case route.Gateway.IsValid():
		return destination.Bits() == 0 && route.Table == 0 && route.Gateway == now.Gateway
	}
	isSubnet := func(address netip.Prefix) bool { return address.Masked() == destination }
	return slices.ContainsFunc(now.Addresses, isSubnet) ||
		(destination.IsSingleIP() && destination.Addr() == now.Gateway)
}

// hasRoute reports whether routes contains the route.
func hasRoute(routes []networkmanager.Route, route networkmanager.Route) bool {
	return slices.ContainsFunc(routes, func(own networkmanager.Route) bool {
		return own.Destination == route.Destination && (own.Table == 0 || own.Table == route.Table)
	})
}

// ethernetMetric is NetworkManager's default for routes of an Ethernet
// interface.
const ethernetMetric = 100

// MetricOf returns the metric of the best default route, else that of any
// route.
func MetricOf(now networkmanager.IP) uint32 {
	var metrics []uint32
	for _, route := range now.Routes {
		if route.Destination.Bits() == 0 {
			metrics = append(metrics, route.Metric)
		}
	}
	if len(metrics) > 0 {
		return slices.Min(metrics)
	}
	for _, route := range now.Routes {
		if !route.Destination.Addr().IsLinkLocalUnicast() {
			return route.Metric
		}
	}
	return ethernetMetric
}
