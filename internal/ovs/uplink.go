package ovs

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options is what the administrator can choose.
type Options struct {
	BridgeInterface string // the uplink; empty: the hint file, else the default route
}

// chooseUplink tells which interface shall go into br-ex: the one asked for,
// else the one in the hint file, else that of the default route with the
// lowest metric, IPv4 before IPv6. The order is configure-ovs.sh's, without
// its detour over the node IP.
func chooseUplink(facts Facts, options Options) (string, error) {
	for _, choice := range []struct{ name, source string }{
		{options.BridgeInterface, "--bridge-interface"},
		{facts.Hint, hintFile},
	} {
		if choice.name == "" {
			continue
		}
		if _, ok := facts.link(choice.name); !ok {
			return "", report.Fail(report.Refused, "ip -br link",
				"%s names %s, and there is no such network interface", choice.source, choice.name)
		}
		return choice.name, nil
	}
	for _, family := range []int{4, 6} {
		if route, ok := bestRoute(facts.Routes, family); ok {
			return route.Link, nil
		}
	}
	return "", report.Fail(report.Refused, "ip route show default",
		"the host has no default route, so the uplink for br-ex cannot be told; give the host one, or name the interface with --bridge-interface")
}

// bestRoute is the default route of a family with the lowest metric; among
// equals the first that the kernel lists.
func bestRoute(routes []host.Route, family int) (host.Route, bool) {
	var best host.Route
	found := false
	for _, route := range routes {
		if route.Family == family && (!found || route.Metric < best.Metric) {
			best, found = route, true
		}
	}
	return best, found
}

// routeOf is the best default route of a family over one link.
func routeOf(routes []host.Route, family int, link string) (host.Route, bool) {
	var own []host.Route
	for _, route := range routes {
		if route.Link == link {
			own = append(own, route)
		}
	}
	return bestRoute(own, family)
}
