// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// ipTables is a parsed output of iptables-save.
type ipTables struct {
	chains []chain // those that are not built in
	rules  []packetRule
}

type chain struct{ table, name string }

// packetRule is a rule of a chain; args are the arguments behind "-A CHAIN".
type packetRule struct {
	chain
	args []string
}

// parseIPTables reads the output of iptables-save. Lines that it does not know
// are skipped, as the comments are that name tables of nftables.
func parseIPTables(saved string) ipTables {
	var tables ipTables
	table := ""
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, ":"):
			// ":NAME POLICY [0:0]"; the policy of a chain that is not built in is "-".
			if fields := strings.Fields(line[1:]); len(fields) > 1 && fields[1] == "-" {
				tables.chains = append(tables.chains, chain{table: table, name: fields[0]})
			}
		case strings.HasPrefix(line, "-A "):
			if args := systemd.SplitWords(line); len(args) > 2 {
				tables.rules = append(tables.rules, packetRule{chain: chain{table: table, name: args[1]}, args: args[2:]})
			}
		}
	}
	return tables
}

// ofCluster reports whether a chain is OVN-Kubernetes', kubelet's or CRI-O's, by
// its name.
func (c chain) ofCluster() bool {
	return slices.ContainsFunc([]string{"OVN-KUBE-", "KUBE-", "CRIO-"}, func(prefix string) bool {
		return strings.HasPrefix(c.name, prefix)
	})
}

// leftovers lists the rules first, because a chain to which a rule leads cannot
// be deleted.
func (t ipTables) leftovers(program string, facts networkFacts) []leftover {
	command := func(c chain, operation string, args ...string) []string {
		return append([]string{program, "--wait", "10", "--table", c.table, operation, c.name}, args...)
	}
	var list []leftover
	for _, rule := range t.rules {
		if !rule.ofCluster() && t.ofPlugin(rule, facts) {
			list = append(list, newLeftover(command(rule.chain, "--delete", rule.args...)...))
		}
	}
	for _, c := range t.chains {
		if c.ofCluster() {
			leftover := newLeftover(command(c, "--delete-chain")...)
			leftover.Prepare = command(c, "--flush")
			list = append(list, leftover)
		}
	}
	return list
}

// ofPlugin reports whether a rule of another chain belongs to OVN-Kubernetes, kubelet
// or CRI-O: it refers to one of their chains or to the management port, or it is
// identical to one of their rules.
func (t ipTables) ofPlugin(rule packetRule, facts networkFacts) bool {
	words := rule.pattern(facts)
	if slices.Contains(words, clusterChain) || slices.Contains(words, managementInterface) {
		return true
	}
	pattern := strings.Join(words, " ")
	if pattern == restoreMark && !t.contains(rule.chain, saveMark) {
		return false
	}
	return slices.Contains(pluginRules[rule.chain], pattern)
}

// The placeholders for arguments in a pattern. The blank keeps them distinct from any value.
const (
	clusterChain        = "(a chain of the cluster)"
	managementInterface = "(the management port)"
	anyUplink           = "(an uplink)"
	anyClusterNetwork   = "(a cluster network)"
)

const (
	saveMark    = "-m mark --mark 0x3f0 -j CONNMARK --save-mark --nfmask 0xffffffff --ctmask 0xffffffff"
	restoreMark = "-m mark --mark 0x0 -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff"
)

// geneveRules exclude Geneve from connection tracking; cluster-network-operator's script adds them.
var geneveRules = []string{
	"-p udp -m udp --dport 6081 -j NOTRACK",
	"-p udp -m udp --dport 6081 -j CT --notrack",
}

// pluginRules lists the rules of OVN-Kubernetes in the chains that are built in.
var pluginRules = map[chain][]string{
	{table: "raw", name: "PREROUTING"}:    geneveRules,
	{table: "raw", name: "OUTPUT"}:        geneveRules,
	{table: "mangle", name: "PREROUTING"}: {saveMark, restoreMark}, // EgressIPs in local gateway mode
	{table: "filter", name: "FORWARD"}: {
		"-i " + anyUplink + " -j DROP",
		"-o " + anyUplink + " -j DROP",
		"-s " + anyClusterNetwork + " -j ACCEPT",
		"-d " + anyClusterNetwork + " -j ACCEPT",
	},
	{table: "nat", name: "POSTROUTING"}: { // local gateway mode
		"-s " + anyClusterNetwork + " -j MASQUERADE",
		"-d " + anyClusterNetwork + " -j MASQUERADE",
	},
}

// contains reports whether a chain has a rule with these arguments.
func (t ipTables) contains(c chain, args string) bool {
	return slices.ContainsFunc(t.rules, func(rule packetRule) bool {
		return rule.chain == c && strings.Join(rule.args, " ") == args
	})
}

// pattern returns the arguments of a rule with placeholders for what belongs to the cluster. An
// argument behind "!" has no placeholder.
func (r packetRule) pattern(facts networkFacts) []string {
	words := slices.Clone(r.args)
	for i, value := range r.args[1:] {
		if i > 0 && r.args[i-1] == "!" {
			continue
		}
		placeholder := value
		switch r.args[i] {
		case "-j", "-g":
			if (chain{table: r.table, name: value}).ofCluster() {
				placeholder = clusterChain
			}
		case "-i", "-o":
			if strings.HasPrefix(value, managementPort) {
				placeholder = managementInterface
			} else if slices.Contains(facts.uplinks(), value) {
				placeholder = anyUplink
			}
		case "-s", "-d":
			if network, err := netip.ParsePrefix(value); err == nil && facts.isCluster(network) {
				placeholder = anyClusterNetwork
			}
		}
		words[i+1] = placeholder
	}
	return words
}
