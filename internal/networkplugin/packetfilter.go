// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"net/netip"
	"slices"
	"strings"
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
			if args := splitRule(line); len(args) > 2 {
				tables.rules = append(tables.rules, packetRule{chain: chain{table: table, name: args[1]}, args: args[2:]})
			}
		}
	}
	return tables
}

// splitRule splits a line of iptables-save into arguments. Those with blanks are
// in double quotes, with a backslash before quotes and backslashes.
func splitRule(line string) []string {
	var args []string
	var arg strings.Builder
	quoted, escaped, begun := false, false, false
	for _, r := range line {
		switch {
		case escaped:
			arg.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == '"':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				args = append(args, arg.String())
			}
			arg.Reset()
			begun = false
		default:
			arg.WriteRune(r)
			begun = true
		}
	}
	if begun {
		args = append(args, arg.String())
	}
	return args
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
	text := strings.Join(rule.args, " ")
	for i, arg := range rule.args[:len(rule.args)-1] {
		if i > 0 && rule.args[i-1] == "!" {
			continue
		}
		value := rule.args[i+1]
		switch arg {
		case "-j", "-g":
			if (chain{table: rule.table, name: value}).ofCluster() {
				return true
			}
		case "-i", "-o":
			if strings.HasPrefix(value, managementPort) {
				return true
			}
		}
	}
	switch rule.table + " " + rule.name {
	case "raw PREROUTING", "raw OUTPUT": // Geneve; cluster-network-operator's script
		return text == "-p udp -m udp --dport 6081 -j NOTRACK" || text == "-p udp -m udp --dport 6081 -j CT --notrack"
	case "mangle PREROUTING": // EgressIPs in local gateway mode
		return text == saveMark || (text == restoreMark && slices.ContainsFunc(t.rules, func(other packetRule) bool {
			return other.chain == rule.chain && strings.Join(other.args, " ") == saveMark
		}))
	case "filter FORWARD":
		return slices.ContainsFunc(facts.uplinks(), func(uplink string) bool {
			return text == "-i "+uplink+" -j DROP" || text == "-o "+uplink+" -j DROP"
		}) || forNetwork(rule.args, "ACCEPT", facts.isCluster)
	case "nat POSTROUTING": // local gateway mode
		return forNetwork(rule.args, "MASQUERADE", facts.isCluster)
	}
	return false
}

const (
	saveMark    = "-m mark --mark 0x3f0 -j CONNMARK --save-mark --nfmask 0xffffffff --ctmask 0xffffffff"
	restoreMark = "-m mark --mark 0x0 -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff"
)

// forNetwork reports whether a rule only has a target and a source or
// destination that is one of certain networks.
func forNetwork(args []string, target string, isOne func(netip.Prefix) bool) bool {
	if len(args) != 4 || (args[0] != "-s" && args[0] != "-d") || args[2] != "-j" || args[3] != target {
		return false
	}
	network, err := netip.ParsePrefix(args[1])
	return err == nil && isOne(network)
}
