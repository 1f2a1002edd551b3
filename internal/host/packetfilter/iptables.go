// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// legacyPrefix distinguishes the tables of the legacy iptables from those of nftables.
const legacyPrefix = "legacy "

// hooks maps the chains that are built in to their hooks.
var hooks = map[string]string{
	"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output", "POSTROUTING": "postrouting",
}

// parseIPTables adds the output of iptables-save for a family of nftables. The tables replace those of the same names
// that nft lists: nft cannot describe the extensions of iptables.
func (r *Ruleset) parseIPTables(family, program, saved string) {
	table := ""
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		name, isTable := strings.CutPrefix(line, "*")
		switch {
		case isTable:
			table = name
			if isNFT(saved) {
				r.chains = slices.DeleteFunc(r.chains, func(c *chain) bool { return c.Family == family && c.Table == name })
			} else {
				table = legacyPrefix + name
			}
		case strings.HasPrefix(line, ":"):
			fields := append(strings.Fields(line[1:]), "") // ":NAME POLICY [0:0]"
			c := &chain{Family: family, Table: table, Name: fields[0]}
			if fields[1] != "-" {
				c.Type, c.Hook, c.Policy = "filter", hooks[c.Name], strings.ToLower(fields[1])
			}
			if strings.HasSuffix(table, "nat") {
				c.Type = "nat"
			}
			r.chains = append(r.chains, c)
		case strings.HasPrefix(line, "-A "):
			arguments := systemd.SplitWords(line)
			if c := r.chain(family, table, arguments[1]); c != nil {
				c.rules = append(c.rules, rule{
					number: len(c.rules) + 1, program: program, arguments: arguments[2:],
					statements: r.translate(c, arguments[2:]),
				})
			}
		}
	}
}

// isNFT reports whether iptables-save has printed rules of nftables, as opposed to the legacy iptables.
func isNFT(saved string) bool { return strings.Contains(saved, "(nf_tables)") }

// protocolNames maps the protocols that iptables names differently.
var protocolNames = map[string]string{"ipv6-icmp": "icmpv6"}

// translate returns a rule of iptables as statements of nftables. An unknown option can match or not, as a
// limit.
func (r *Ruleset) translate(c *chain, arguments []string) []statement {
	var statements []statement
	ip := c.Family // the protocol of addresses
	for i, option := range arguments {
		if !strings.HasPrefix(option, "-") || (i > 0 && slices.Contains(freeTexts, arguments[i-1])) {
			continue
		}
		values := slices.Concat(arguments[i+1:], []string{"", ""}) // an option has up to two
		value := values[0]
		op := "=="
		if i > 0 && arguments[i-1] == "!" {
			op = "!="
		}
		add := func(left statement, right any) {
			statements = append(statements, statement{"match": statement{"op": op, "left": left, "right": right}})
		}
		switch option {
		case "-i":
			add(key("meta", "iifname"), wildcard(value))
		case "-o":
			add(key("meta", "oifname"), wildcard(value))
		case "-p":
			name := value
			if other, ok := protocolNames[value]; ok {
				name = other
			}
			add(key("meta", "l4proto"), name)
		case "-s":
			add(payload(ip, "saddr"), value)
		case "-d":
			add(payload(ip, "daddr"), value)
		case "--dport", "--dports", "--destination-ports":
			add(payload("th", "dport"), portSet(value))
		case "--sport", "--sports", "--source-ports":
			add(payload("th", "sport"), portSet(value))
		case "--ports":
			add(payload("th", "port"), portSet(value))
		case "--tcp-flags": // MASK FLAGS
			add(statement{"&": []any{payload("tcp", "flags"), tcpFlags(value)}}, tcpFlags(values[1]))
		case "-f":
			add(statement{"&": []any{payload(ip, "frag-off"), float64(0x1fff)}}, float64(1)) // not the first packet
		case "--src-range":
			add(payload(ip, "saddr"), addressRange(value))
		case "--dst-range":
			add(payload(ip, "daddr"), addressRange(value))
		case "--match-set": // NAME src,dst
			as, _, _ := strings.Cut(values[1], ",")
			add(statement{"peer": as}, true)
		case "--mac-source", "--rcheck", "--update", "--source-country", "--src-cc":
			add(statement{"peer": "src"}, true)
		case "--pol":
			add(key("meta", "ipsec"), value == "ipsec")
		case "--pkt-type":
			add(key("meta", "pkttype"), value)
		case "--src-group":
			add(key("meta", "iifgroup"), markValue(value))
		case "--dst-group":
			add(key("meta", "oifgroup"), markValue(value))
		case "--helper":
			add(key("ct", "helper"), value)
		case "--ctdir":
			add(key("ct", "direction"), strings.ToLower(value))
		case "--ctorigdstport":
			add(statement{"ct": statement{"key": "proto-dst", "dir": "original"}}, portSet(value))
		case "--state", "--ctstate":
			add(key("ct", "state"), words(strings.ToLower(value)))
		case "--ctstatus":
			add(key("ct", "status"), words(strings.ToLower(value)))
		case "--mark":
			add(key("meta", "mark"), markValue(value))
		case "--dst-type":
			add(statement{"fib": statement{"result": "type", "flags": []any{"daddr"}}}, words(strings.ToLower(value)))
		case "--src-type":
			add(statement{"fib": statement{"result": "type", "flags": []any{"saddr"}}}, words(strings.ToLower(value)))
		case "-j", "-g":
			statements = append(statements, r.target(c, option, value, arguments[i:])...)
		case "-m", "--comment", "--reject-with":
		default:
			if len(statements) == 0 || !isTerminal(statements[len(statements)-1]) { // else an option of the target
				statements = append(statements, statement{"limit": option})
			}
		}
	}
	return statements
}

// freeTexts lists the options whose value can begin with "-".
var freeTexts = []string{"--comment", "--log-prefix", "--nflog-prefix"}

// target returns the statement of a target with its options. Targets that are not listed change the packet, and the
// next rule follows.
func (r *Ruleset) target(c *chain, option, name string, options []string) []statement {
	switch name {
	case "ACCEPT", "DNAT", "REDIRECT", "SNAT", "MASQUERADE", "NETMAP", "QUEUE", "NFQUEUE", "TPROXY", "SYNPROXY":
		return []statement{{"accept": nil}}
	case "DROP", "REJECT", "TARPIT":
		return []statement{{"drop": nil}}
	case "RETURN":
		return []statement{{"return": nil}}
	case "MARK", "CONNMARK":
		mark := statement{"key": key("meta", "mark"), "value": key("meta", "mark")} // saved or restored
		if i := slices.Index(options, "--set-xmark"); i > 0 && i+1 < len(options) {
			mark["value"] = markValue(options[i+1])
		}
		return []statement{{"mangle": mark}}
	}
	statements := map[string]string{"-j": "jump", "-g": "goto"}
	if r.chain(c.Family, c.Table, name) != nil {
		return []statement{{statements[option]: statement{"target": name}}}
	}
	return []statement{{"log": nil}}
}

func isTerminal(s statement) bool {
	for name := range s {
		return name != "match" && name != "limit"
	}
	return false
}

func key(kind, name string) statement { return statement{kind: statement{"key": name}} }

func payload(protocol, field string) statement {
	return statement{"payload": statement{"protocol": protocol, "field": field}}
}

// wildcard returns the name of an interface in the syntax of nftables.
func wildcard(name string) string {
	if prefix, ok := strings.CutSuffix(name, "+"); ok {
		return prefix + "*"
	}
	return name
}

// markValue returns the value of a mark or a group with an optional mask, VALUE/MASK.
func markValue(text string) float64 {
	value, _, _ := strings.Cut(text, "/")
	number, _ := strconv.ParseUint(value, 0, 32) // is valid
	return float64(number)
}

// tcpFlags returns a list of flags, ALL or NONE.
func tcpFlags(list string) []any {
	switch list {
	case "ALL":
		list = "FIN,SYN,RST,PSH,ACK,URG"
	case "NONE":
		return nil
	}
	return asList(words(strings.ToLower(list))["set"])
}

// addressRange returns the addresses FIRST-LAST.
func addressRange(text string) statement {
	first, last, _ := strings.Cut(text, "-")
	return statement{"range": []any{first, last}}
}

func words(list string) statement {
	var elements []any
	for word := range strings.SplitSeq(list, ",") {
		elements = append(elements, word)
	}
	return statement{"set": elements}
}

// portSet returns ports and ranges such as 22,80:90.
func portSet(list string) statement {
	var elements []any
	for text := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(text, ":")
		if !isRange {
			last = first
		}
		elements = append(elements, statement{"range": []any{number(first, 0), number(last, 65535)}})
	}
	return statement{"set": elements}
}
