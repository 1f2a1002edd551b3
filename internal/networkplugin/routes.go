// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// Priorities, marks and tables of OVN-Kubernetes' routing rules.
const (
	servicePriority  = 30       // initSvcViaMgmPortRoutingRules
	serviceMark      = 0x1745ec // ovnkubeITPMark
	serviceTable     = 7        // ovnkubeSvcViaMgmPortRT
	networkPriority  = 2000     // of user-defined networks
	egressPriority   = 5000     // of EgressServices
	nodeIPPriority   = 5999     // of EgressIPs
	nodeIPMark       = 0x3f0
	egressIPPriority = 6000
	ownTables        = 1000 // plus the index of an interface
	mainTable        = 254
)

func (f networkFacts) rules(cluster []netip.Prefix) []leftover {
	var list []leftover
	for _, rule := range f.Rules {
		if f.ofPlugin(rule, cluster) {
			list = append(list, ruleLeftover(rule))
		}
	}
	return list
}

func (f networkFacts) ofPlugin(rule hostnet.PolicyRule, cluster []netip.Prefix) bool {
	switch rule.Priority {
	case servicePriority:
		return rule.Mark == serviceMark && rule.Table == serviceTable
	case nodeIPPriority:
		return rule.Mark == nodeIPMark && rule.Table == mainTable
	case egressIPPriority:
		return rule.Source.IsSingleIP() && f.ownTable(rule.Table, "")
	case networkPriority:
		return f.ownTable(rule.Table, managementPort)
	case egressPriority:
		return slices.ContainsFunc(cluster, func(network netip.Prefix) bool {
			return rule.Source.IsValid() && network.Contains(rule.Source.Addr())
		})
	}
	return false
}

// ownTable reports whether a routing table is the one that OVN-Kubernetes uses
// for an interface whose name begins with prefix.
func (f networkFacts) ownTable(table int, prefix string) bool {
	return slices.ContainsFunc(f.Links, func(link hostnet.Link) bool {
		return table == ownTables+link.Index && strings.HasPrefix(link.Name, prefix)
	})
}

func ruleLeftover(rule hostnet.PolicyRule) leftover {
	command := []string{"ip", "-" + strconv.Itoa(rule.Family), "rule", "delete", "priority", strconv.Itoa(rule.Priority)}
	if rule.Source.IsValid() {
		command = append(command, "from", rule.Source.String())
	}
	if rule.Destination.IsValid() {
		command = append(command, "to", rule.Destination.String())
	}
	if rule.Mark != 0 {
		command = append(command, "fwmark", "0x"+strconv.FormatUint(uint64(rule.Mark), 16))
	}
	return newLeftover(append(command, "table", strconv.Itoa(rule.Table))...)
}

// routes lists the routes to and by OVN-Kubernetes' masquerade addresses on a
// bridge, and those of EgressIPs. Routes over the management port are removed
// with it.
func (f networkFacts) routes() []leftover {
	subnets := map[string][]netip.Prefix{}
	for _, address := range f.Addresses {
		if openvswitch.IsMasquerade(address.Address) {
			subnets[address.Link] = append(subnets[address.Link], address.Address.Masked())
		}
	}
	var list []leftover
	for _, route := range f.Routes {
		within := func(address netip.Addr) bool {
			return slices.ContainsFunc(subnets[route.Link], func(subnet netip.Prefix) bool { return subnet.Contains(address) })
		}
		destination := route.Destination
		own := within(route.Gateway) || (destination.Bits() > 0 && within(destination.Addr()))
		if !own && !f.ofEgressIPs(route) {
			continue
		}
		command := []string{"ip", "-" + strconv.Itoa(route.Family), "route", "delete", destination.String()}
		if route.Gateway.IsValid() {
			command = append(command, "via", route.Gateway.String())
		}
		command = append(command, "dev", route.Link, "table", strconv.Itoa(route.Table))
		list = append(list, newLeftover(command...))
	}
	return list
}

// ofEgressIPs reports whether a route is in a table to which a rule of an
// EgressIP leads.
func (f networkFacts) ofEgressIPs(route hostnet.TableRoute) bool {
	return slices.ContainsFunc(f.Rules, func(rule hostnet.PolicyRule) bool {
		return rule.Priority == egressIPPriority && rule.Table == route.Table && f.ofPlugin(rule, nil)
	})
}

// addresses lists OVN-Kubernetes' masquerade addresses and EgressIPs. Those of
// the management port are removed with it.
func (f networkFacts) addresses() []leftover {
	var list []leftover
	for _, address := range f.Addresses {
		if openvswitch.IsMasquerade(address.Address) || address.Label == address.Link+"eip" {
			list = append(list, newLeftover("ip", "address", "delete", address.Address.String(), "dev", address.Link))
		}
	}
	return list
}
