// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options contains the administrator's choices.
type Options struct {
	BridgeInterface string // the uplink; if empty, chooseUplink selects it
	// IgnorePacketFilter confirms a migration after which the packet filter accepts no new SSH connections.
	IgnorePacketFilter bool
	Declared           *Declared // what declares br-ex; nil: nothing does
}

// uplinkChoice is an interface, and the setting that selected it.
type uplinkChoice struct{ name, source string }

// chooseUplink returns the interface to attach to br-ex, in the order of
// configure-ovs.sh: the interface of --bridge-interface; the one in the
// administrator's file; the one with the node's address, or with the hint for
// it in its subnet; the one of the default route with the lowest metric, IPv4
// before IPv6. In the last case the interface saved for an earlier br-ex wins
// if it has a default route too.
func chooseUplink(facts Facts, options Options) (uplinkChoice, error) {
	if facts.BridgeHintEmpty {
		return uplinkChoice{}, report.Fail(report.Refused, "echo INTERFACE > "+bridgeHintFile+" # or: rm "+bridgeHintFile,
			"%s is empty; write the name of the network interface for br-ex to it, or remove it", bridgeHintFile)
	}
	for _, choice := range []uplinkChoice{
		{options.BridgeInterface, "--bridge-interface"},
		{facts.BridgeHint, bridgeHintFile},
	} {
		if choice.name == "" {
			continue
		}
		link, ok := facts.namedLink(choice.name)
		if !ok {
			return choice, report.Fail(report.Refused, "ip -br link",
				"the network interface in %s does not exist: %s", choice.source, choice.name)
		}
		return uplinkChoice{link.Name, choice.source}, nil
	}
	if choice, ok := uplinkByNodeIP(facts); ok {
		return choice, nil
	}
	return uplinkByDefaultRoute(facts)
}

// namedLink returns the network interface that an administrator has named, also by an alternative name.
func (f Facts) namedLink(name string) (hostnet.Link, bool) {
	return find(f.Links, func(link hostnet.Link) bool { return link.Name == name || slices.Contains(link.AltNames, name) })
}

// uplinkByNodeIP returns the interface with the node's address, according to the
// files of nodeip-configuration.service.
func uplinkByNodeIP(facts Facts) (uplinkChoice, bool) {
	for _, link := range facts.Links {
		for _, prefix := range link.Stable() {
			switch {
			case !canBeUplink(link):
			case facts.PrimaryIP != "" && prefix.Addr().String() == facts.PrimaryIP:
				return uplinkChoice{link.Name, nodeip.PrimaryFile}, true
			case facts.PrimaryIP == "" && nodeip.MatchesHint(link.Subnet(prefix), facts.NodeIPHint):
				return uplinkChoice{link.Name, "NODEIP_HINT in " + nodeip.HintFile}, true
			}
		}
	}
	return uplinkChoice{}, false
}

func uplinkByDefaultRoute(facts Facts) (uplinkChoice, error) {
	routes := slices.DeleteFunc(slices.Clone(facts.Routes), func(route hostnet.Route) bool {
		link, ok := facts.Link(route.Link)
		return ok && !canBeUplink(link)
	})
	for _, family := range []int{4, 6} {
		if _, ok := hostnet.DefaultRouteOf(routes, family, facts.SavedUplink); ok {
			return uplinkChoice{facts.SavedUplink, savedUplinkFile}, nil
		}
	}
	for _, family := range []int{4, 6} {
		if route, ok := hostnet.BestDefaultRoute(routes, family); ok {
			return uplinkChoice{route.Link, defaultRouteSource(family)}, nil
		}
	}
	return uplinkChoice{}, report.Fail(report.Refused, "ip route show default",
		"the host has no default route, which determines the uplink and which OVN-Kubernetes requires over br-ex; add "+
			"one to the uplink's NetworkManager profile")
}

func defaultRouteSource(family int) string { return fmt.Sprintf("the IPv%d default route", family) }

// excludedLinks lists patterns for the interfaces of pods and OVN-Kubernetes.
var excludedLinks = []string{
	"lo", BridgeName, "br-int", "br-ext", openvswitch.Datapath,
	"ovn-k8s-*", "k8s-*", "genev_sys_*", "vxlan_sys_*", "patch-*", "cni*",
}

func canBeUplink(link hostnet.Link) bool {
	return link.Kind != "veth" && !slices.ContainsFunc(excludedLinks, func(pattern string) bool {
		matched, err := path.Match(pattern, link.Name)
		return matched && err == nil
	})
}

// chooseMetric returns the metric of br-ex's default route of a family: that of
// configure-ovs.sh, or a lower one if another interface has a route that is as
// good.
func chooseMetric(facts Facts, uplink string, family int) (int64, error) {
	metric := int64(bridgeMetric)
	for _, route := range facts.Routes {
		if route.Family != family || route.Link == uplink || route.Link == BridgeName || int64(route.Metric) > metric {
			continue
		}
		if _, own := hostnet.DefaultRouteOf(facts.Routes, family, uplink); !own {
			continue // br-ex will not have one either
		}
		if route.Metric <= 1 {
			return 0, Refuse(report.Remedyf("ip route show default dev %s # then increase the metric of that route", route.Link),
				"the default route over %s has the metric %d and would be preferred to the one over br-ex", route.Link,
				route.Metric)
		}
		metric = int64(route.Metric) - 1
	}
	return metric, nil
}

// overriddenRouteNotes returns a note for each default route of another interface that was
// better than the uplink's and is worse than br-ex's. Outgoing traffic changes
// its path in that case.
func overriddenRouteNotes(facts Facts, uplink string, metrics map[networkmanager.Family]int64) []string {
	var notes []string
	for _, family := range networkmanager.Families() {
		own, ok := hostnet.DefaultRouteOf(facts.Routes, int(family), uplink)
		best, _ := hostnet.BestDefaultRoute(facts.Routes, int(family))
		if ok && best.Link != uplink && best.Metric < own.Metric {
			notes = append(notes, fmt.Sprintf("the preferred IPv%d default route is over %s (metric %d) and not over %s "+
				"(%d); after the change it is over br-ex (%d), as on image-mode nodes",
				int(family), best.Link, best.Metric, uplink, own.Metric, metrics[family]))
		}
	}
	return notes
}

// hasCompetingRoute reports whether another interface has a default route with a metric
// up to the uplink's plus nmprofile.MetricPenalty.
func hasCompetingRoute(facts Facts, uplink string) bool {
	return slices.ContainsFunc(facts.Routes, func(other hostnet.Route) bool {
		own, ok := hostnet.DefaultRouteOf(facts.Routes, other.Family, uplink)
		return ok && other.Link != uplink && other.Metric <= own.Metric+nmprofile.MetricPenalty
	})
}
