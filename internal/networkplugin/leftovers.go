// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// leftover is one thing on the host that the network plugin, kubelet or CRI-O
// made, or that only they make.
type leftover struct {
	Key         string   // equal for equal things; the ledger holds those from before the join
	Prepare     []string // a command that runs before all removals; nil for none
	Remove      []string // the command that removes the thing
	IsDependent bool     // it can go with another one, so it is removed only if that did not happen
}

// command returns the shell command that removes the thing.
func (l leftover) command() string {
	if l.Prepare == nil {
		return shellLine(l.Remove)
	}
	return shellLine(l.Prepare) + " && " + shellLine(l.Remove)
}

// shellLine returns a command as a line for a shell.
func shellLine(command []string) string {
	var words []string
	for _, word := range command {
		words = append(words, report.ShellWord(word))
	}
	return strings.Join(words, " ")
}

// listLeftovers returns the objects that OVN-Kubernetes, kubelet and CRI-O have created in
// the host's network, in the order of removal. Only objects with one of their names or
// numbers, or with a route to their addresses, are listed; see go-controller's
// gateway_iptables.go, gateway_shared_intf.go, management-port_linux.go,
// egressip.go and default_node_network_controller.go.
func listLeftovers(facts networkFacts) []leftover {
	var list []leftover
	for _, program := range []string{"iptables", "ip6tables"} {
		list = append(list, parseIPTables(facts.IPTables[program]).leftovers(program, facts)...)
	}
	for _, table := range facts.NFTables {
		// OVN-Kubernetes since OpenShift 4.18, and CRI-O's host ports.
		if strings.HasPrefix(table.Name, "ovn-kubernetes") || table.Name == "crio-hostports" {
			list = append(list, newLeftover("nft", "delete", "table", table.Family, table.Name))
		}
	}
	list = append(list, facts.rules(facts.clusterNetworks())...)
	list = append(list, facts.routes()...)
	list = append(list, facts.addresses()...)
	if facts.Database != nil {
		list = append(list, facts.database()...)
	}
	return append(list, facts.links()...)
}

// since returns the leftovers that were not there before; before are keys, each
// as often as there were equal things.
func since(list []leftover, before []string) []leftover {
	count := map[string]int{}
	for _, key := range before {
		count[key]++
	}
	var came []leftover
	for _, l := range list {
		if count[l.Key] > 0 {
			count[l.Key]--
			continue
		}
		came = append(came, l)
	}
	return came
}

// newLeftover returns a thing that its own removal identifies.
func newLeftover(remove ...string) leftover {
	return leftover{Key: strings.Join(remove, " "), Remove: remove}
}

const managementPort = "ovn-k8s-mp"

// clusterNetworks lists the networks of pods and services, which lead over the
// management port.
func (f networkFacts) clusterNetworks() []netip.Prefix {
	var networks []netip.Prefix
	for _, route := range f.Routes {
		network := route.Destination
		if strings.HasPrefix(route.Link, managementPort) && network.Bits() > 0 && !network.Addr().IsLinkLocalUnicast() {
			networks = append(networks, network)
		}
	}
	return networks
}

// isCluster reports whether a network is one of the cluster's, or a masquerade
// address of OVN-Kubernetes. While OVN-Kubernetes starts, no route leads to the
// service networks.
func (f networkFacts) isCluster(network netip.Prefix) bool {
	if slices.Contains(f.clusterNetworks(), network) {
		return true
	}
	if network.IsSingleIP() {
		return slices.ContainsFunc(openvswitch.MasqueradeSubnets(), func(subnet netip.Prefix) bool {
			return network.Addr() == subnet.Addr().Next()
		})
	}
	return network.Bits() > 0 && slices.ContainsFunc(f.Services, network.Contains)
}

// uplinks lists the bridges that OVN-Kubernetes uses as gateways.
func (f networkFacts) uplinks() []string {
	// Also without a mapping, which may already have been removed.
	uplinks := []string{openvswitch.ExternalBridge, openvswitch.ExternalBridge + "1"}
	if f.Database == nil {
		return uplinks
	}
	for mapping := range strings.SplitSeq(f.Database.ExternalIDs["ovn-bridge-mappings"], ",") {
		if _, bridge, _ := strings.Cut(mapping, ":"); bridge != "" && !slices.Contains(uplinks, bridge) {
			uplinks = append(uplinks, bridge)
		}
	}
	return uplinks
}
