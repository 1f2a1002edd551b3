// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Route is a default route.
type Route struct {
	Link    string     `json:"link"`
	Gateway netip.Addr `json:"gateway"` // invalid for a route without a gateway
	Metric  int        `json:"metric"`
	Family  int        `json:"family"` // 4 or 6
}

// EqualExceptMetric reports whether two routes are equal except for the metric.
func (r Route) EqualExceptMetric(other Route) bool {
	other.Metric = r.Metric
	return r == other
}

// TableRoute is a route of any routing table.
type TableRoute struct {
	Route
	Table       int
	Destination netip.Prefix // of length 0, or invalid, for a default route
	Source      netip.Addr   `json:"source,omitzero"`    // preferred for packets of the host; invalid: none
	IsOnLink    bool         `json:"isOnLink,omitempty"` // the gateway can be in no subnet of the link
}

// TableRoutes returns the unicast routes of all routing tables except the kernel's table of local
// addresses, in the kernel's order, with a separate entry for each path of a multipath route.
func TableRoutes() ([]TableRoute, error) {
	var routes []TableRoute
	for _, family := range families {
		found, err := dump(func() ([]netlink.Route, error) {
			all := &netlink.Route{Table: unix.RT_TABLE_UNSPEC}
			return netlink.RouteListFiltered(family.netlink, all, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return nil, fmt.Errorf("listing routes: %w", err)
		}
		names, err := linkNames() // after the routes, so that the interfaces of all routes are known
		if err != nil {
			return nil, err
		}
		for _, route := range found {
			if route.Table == unix.RT_TABLE_LOCAL || route.Type != unix.RTN_UNICAST {
				continue
			}
			source, _ := netip.AddrFromSlice(route.Src)
			paths := []*netlink.NexthopInfo{{LinkIndex: route.LinkIndex, Gw: route.Gw, Flags: route.Flags}}
			for _, hop := range append(paths, route.MultiPath...) {
				gateway, _ := netip.AddrFromSlice(hop.Gw)
				link, exists := names[hop.LinkIndex] // false for the head of a multipath route
				if exists {
					routes = append(routes, TableRoute{
						Route: Route{Link: link, Gateway: gateway.Unmap(), Metric: route.Priority, Family: family.number},
						Table: route.Table, Destination: optionalPrefix(route.Dst),
						Source: source.Unmap(), IsOnLink: hop.Flags&unix.RTNH_F_ONLINK != 0,
					})
				}
			}
		}
	}
	return routes, nil
}

// DefaultRoutes returns the default routes of the main table, lowest metric first as in the kernel's list.
func DefaultRoutes() ([]Route, error) {
	all, err := TableRoutes()
	var defaults []Route
	for _, route := range all {
		if route.Table == unix.RT_TABLE_MAIN && route.Destination.Bits() <= 0 {
			defaults = append(defaults, route.Route)
		}
	}
	return defaults, err
}

// BestDefaultRoute returns the default route of a family with the lowest metric,
// the first in the kernel's order among equals.
func BestDefaultRoute(routes []Route, family int) (Route, bool) {
	var best Route
	found := false
	for _, route := range routes {
		if route.Family == family && (!found || route.Metric < best.Metric) {
			best, found = route, true
		}
	}
	return best, found
}

// DefaultRouteOf returns the best default route of a family over one link.
func DefaultRouteOf(routes []Route, family int, link string) (Route, bool) {
	own := slices.DeleteFunc(slices.Clone(routes), func(route Route) bool { return route.Link != link })
	return BestDefaultRoute(own, family)
}

// RemoveRoute removes a route over a link from a routing table other than the
// main one. A missing route is not an error.
func RemoveRoute(link string, destination netip.Prefix, table, metric int) error {
	index, err := linkIndex(link)
	if err != nil {
		return err
	}
	err = netlink.RouteDel(&netlink.Route{LinkIndex: index, Table: table, Priority: metric, Dst: ipNet(destination)})
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("removing the route to %s from table %d: %w", destination, table, err)
	}
	return nil
}

// addExpiringRoute adds an IPv6 default route that the kernel removes after the
// given number of seconds, in case this process is killed before. Route of the
// netlink library does not support a lifetime (1.3). An existing route is an
// error, as with RouteAdd.
func addExpiringRoute(link int, gateway netip.Addr, metric int, seconds uint32) error {
	request := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
	message := nl.NewRtMsg()
	message.Family, message.Protocol = unix.AF_INET6, unix.RTPROT_STATIC
	request.AddData(message)
	request.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, gateway.AsSlice()))
	for kind, value := range map[int]uint32{
		unix.RTA_OIF:      uint32(link),   //nolint:gosec // an index is 32 bits wide
		unix.RTA_PRIORITY: uint32(metric), //nolint:gosec // a metric is 32 bits wide
		unix.RTA_EXPIRES:  seconds,
	} {
		request.AddData(nl.NewRtAttr(kind, nl.Uint32Attr(value)))
	}
	_, err := request.Execute(unix.NETLINK_ROUTE, 0)
	return err
}
