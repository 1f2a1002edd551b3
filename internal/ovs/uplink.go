package ovs

import (
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options is what the administrator can choose.
type Options struct {
	BridgeInterface string // the uplink; empty: see chooseUplink
}

// uplinkChoice is an interface, and what has named it.
type uplinkChoice struct{ name, source string }

// chooseUplink tells which interface shall go into br-ex, in the order of
// configure-ovs.sh: the one asked for; the one in the administrator's file; the
// one with the node's address, or whose subnet holds the hint for it; that of
// the default route with the lowest metric, IPv4 before IPv6, where the one
// that an earlier br-ex has remembered wins if it has a default route too.
func chooseUplink(facts Facts, options Options) (uplinkChoice, error) {
	if facts.HintEmpty {
		return uplinkChoice{}, report.Fail(report.Refused, "echo INTERFACE > "+hintFile+" # or: rm "+hintFile,
			"%s is empty; it has to name the network interface for br-ex, or not be there", hintFile)
	}
	for _, choice := range []uplinkChoice{{options.BridgeInterface, "--bridge-interface"}, {facts.Hint, hintFile}} {
		if choice.name == "" {
			continue
		}
		if _, ok := facts.Link(choice.name); !ok {
			return choice, report.Fail(report.Refused, "ip -br link",
				"%s names %s, and there is no such network interface", choice.source, choice.name)
		}
		return choice, nil
	}
	if choice, ok := uplinkOfNode(facts); ok {
		return choice, nil
	}
	return uplinkOfRoute(facts)
}

// uplinkOfNode goes by what names the node's address.
func uplinkOfNode(facts Facts) (uplinkChoice, bool) {
	for _, link := range facts.Links {
		for _, prefix := range link.Lasting() {
			switch {
			case !mayBeUplink(link):
			case facts.PrimaryIP != "" && prefix.Addr().String() == facts.PrimaryIP:
				return uplinkChoice{link.Name, nodeip.PrimaryFile}, true
			case facts.PrimaryIP == "" && nodeip.MatchesHint(link.Subnet(prefix), facts.NodeIPHint):
				return uplinkChoice{link.Name, "NODEIP_HINT in " + nodeip.HintFile}, true
			}
		}
	}
	return uplinkChoice{}, false
}

func uplinkOfRoute(facts Facts) (uplinkChoice, error) {
	routes := slices.DeleteFunc(slices.Clone(facts.Routes), func(route host.Route) bool {
		link, ok := facts.Link(route.Link)
		return ok && !mayBeUplink(link)
	})
	for _, family := range []int{4, 6} {
		if _, ok := host.DefaultRouteOf(routes, family, facts.SavedUplink); ok {
			return uplinkChoice{facts.SavedUplink, uplinkHintFile}, nil
		}
	}
	for _, family := range []int{4, 6} {
		if route, ok := host.BestDefaultRoute(routes, family); ok {
			return uplinkChoice{route.Link, fmt.Sprintf("the default route of IPv%d", family)}, nil
		}
	}
	return uplinkChoice{}, report.Fail(report.Refused, "ip route show default",
		"the host has no default route, so the uplink for br-ex cannot be told, and OVN-Kubernetes needs one over br-ex; give the uplink's NetworkManager profile one")
}

// notUplinks are what pods and OVN-Kubernetes have.
var notUplinks = []string{"lo", BridgeName, "br-int", "br-ext", "ovs-system", "ovn-k8s-*", "k8s-*", "genev_sys_*", "vxlan_sys_*", "patch-*", "cni*"}

func mayBeUplink(link host.Link) bool {
	return link.Kind != "veth" && !slices.ContainsFunc(notUplinks, func(pattern string) bool {
		matched, err := path.Match(pattern, link.Name)
		return matched && err == nil
	})
}

// metricFor is the metric that br-ex's default route of a family gets: that of
// configure-ovs.sh, or a lower one where another interface has as good a route.
func metricFor(facts Facts, uplink string, family int) (int64, error) {
	metric := int64(bridgeMetric)
	for _, route := range facts.Routes {
		if route.Family != family || route.Link == uplink || route.Link == BridgeName || int64(route.Metric) > metric {
			continue
		}
		if _, own := host.DefaultRouteOf(facts.Routes, family, uplink); !own {
			continue // br-ex will have none either
		}
		if route.Metric <= 1 {
			return 0, Refuse(fmt.Sprintf("ip route show default dev %s # and give that route a higher metric", route.Link),
				"the default route over %s has the metric %d, so it would win over the one over br-ex", route.Link, route.Metric)
		}
		metric = int64(route.Metric) - 1
	}
	return metric, nil
}

// overtaken says which default routes of others br-ex's will be better than,
// and the uplink's were not: what leaves the host leaves another way then.
func overtaken(facts Facts, uplink string, metrics map[networkmanager.Family]int64) []string {
	var notes []string
	for _, family := range networkmanager.Families() {
		own, ok := host.DefaultRouteOf(facts.Routes, int(family), uplink)
		best, _ := host.BestDefaultRoute(facts.Routes, int(family))
		if ok && best.Link != uplink && best.Metric < own.Metric {
			notes = append(notes, fmt.Sprintf("the IPv%d default route of this host leads over %s (metric %d) and not over %s (%d); afterwards it leads over br-ex (%d), as on image-mode nodes",
				int(family), best.Link, best.Metric, uplink, own.Metric, metrics[family]))
		}
	}
	return notes
}

// competes tells whether a default route over another interface is as good as
// one that is worse than the uplink's by the copy's malus.
func competes(facts Facts, uplink string) bool {
	return slices.ContainsFunc(facts.Routes, func(other host.Route) bool {
		own, ok := host.DefaultRouteOf(facts.Routes, other.Family, uplink)
		return ok && other.Link != uplink && other.Metric <= own.Metric+metricPenalty
	})
}
