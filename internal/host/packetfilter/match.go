// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// truth is the set of the possible values of a condition.
type truth uint8

const (
	no    truth = 1
	yes   truth = 2
	maybe       = no | yes
)

func truthOf(value bool) truth {
	if value {
		return yes
	}
	return no
}

func (t truth) and(other truth) truth { return (t|other)&no | t&other&yes }

func (t truth) not() truth { return t&no<<1 | t&yes>>1 }

// match evaluates a match statement of a chain.
func (e evaluation) match(c *chain, op any, left statement, right any) truth {
	if !e.hasHeader(left) {
		return no // nft does not print the match of the protocol that another match implies
	}
	if flags, ok := e.tcpFlags(left); ok {
		return matchFlags(op, flags, right)
	}
	switch op {
	case "==", "in":
		return e.equals(c, left, right)
	case "!=", "!":
		return e.equals(c, left, right).not()
	}
	port, isPort := e.port(left)
	bound, isNumber := right.(float64)
	switch {
	case !isPort || !isNumber:
	case op == "<":
		return truthOf(port < bound)
	case op == "<=":
		return truthOf(port <= bound)
	case op == ">":
		return truthOf(port > bound)
	case op == ">=":
		return truthOf(port >= bound)
	}
	return maybe
}

// hasHeader reports whether a packet can have the protocol header of an expression.
func (p packet) hasHeader(left statement) bool {
	for _, part := range append(asList(left["concat"]), left) {
		switch protocol := asObject(asObject(part)["payload"])["protocol"]; protocol {
		case "ip", "ip6":
			if protocol != p.family() {
				return false
			}
		case "icmp", "icmpv6", "igmp", "udp", "udplite", "sctp", "dccp", "esp", "ah", "comp", "arp":
			return false
		}
	}
	return true
}

// equals evaluates whether an expression has a value, or one of the values of a set.
func (e evaluation) equals(c *chain, left statement, right any) truth {
	if name, ok := right.(string); ok && strings.HasPrefix(name, "@") {
		elements, known := e.elements(c, name)
		if !known {
			return maybe
		}
		return e.isOneOf(c, left, elements)
	}
	if list, ok := right.([]any); ok { // flags, of which one is sufficient
		return e.isOneOf(c, left, list)
	}
	object := asObject(right)
	if parts := asList(left["concat"]); parts != nil && object["concat"] != nil {
		values, result := asList(object["concat"]), yes
		for i := range min(len(parts), len(values)) {
			result = result.and(e.equals(c, asObject(parts[i]), values[i]))
		}
		return result
	}
	switch {
	case right == "*": // catches all in a set, or a name with any characters
		return yes
	case object["set"] != nil:
		return e.isOneOf(c, left, asList(object["set"]))
	case object["elem"] != nil: // with a timeout, a counter or a comment
		return e.equals(c, left, asObject(object["elem"])["val"])
	}
	return e.hasValue(c, left, right)
}

func (e evaluation) isOneOf(c *chain, left statement, elements []any) truth {
	none := yes
	for _, element := range elements {
		none = none.and(e.equals(c, left, element).not())
	}
	return none.not()
}

// hasValue evaluates whether an expression has a value that is not a set.
func (e evaluation) hasValue(c *chain, left statement, right any) truth {
	if port, ok := e.port(left); ok {
		first, last := bounds(right)
		return truthOf(first <= port && port <= last)
	}
	meta, _ := asObject(left["meta"])["key"].(string)
	ct, _ := asObject(left["ct"])["key"].(string)
	fib := asObject(left["fib"])
	header := asObject(left["payload"])
	switch {
	case meta == "iif", meta == "iifname":
		return e.isLink(c, right, !e.response)
	case meta == "oif", meta == "oifname":
		return e.isLink(c, right, e.response)
	case meta == "iifgroup", meta == "iifkind":
		return e.ofLink(meta, right, !e.response)
	case meta == "oifgroup", meta == "oifkind":
		return e.ofLink(meta, right, e.response)
	case left["&"] != nil:
		return e.masked(left, right)
	case isMark(left) && !*e.isMarked:
		return truthOf(right == float64(0))
	case left["peer"] != nil:
		return e.isOfPeer(left["peer"])
	case header["protocol"] == "ether" && header["field"] == "saddr" && !e.response:
		return e.isOfPeer("src")
	case meta == "ipsec" && right == false:
		return e.isOfPeer("src").not()
	case meta == "ipsec", asObject(left["ipsec"])["dir"] == "in":
		return e.isOfPeer("src")
	case meta == "l4proto", header["field"] == "protocol", header["field"] == "nexthdr":
		return truthOf(right == "tcp" || right == float64(6))
	case meta == "nfproto", meta == "protocol":
		return truthOf(right == e.family() || right == "ipv4" && e.Address.Is4() || right == "ipv6" && e.Address.Is6())
	case meta == "pkttype" && !e.response:
		return truthOf(right == "host" || right == "unicast")
	case ct == "state" && e.response:
		return truthOf(right == "established")
	case ct == "state":
		return truthOf(right == "new")
	case ct == "status" && !e.response, ct == "helper":
		return no
	case strings.HasSuffix(ct, "saddr") && asObject(left["ct"])["dir"] == "original":
		return e.isAddress(right, false)
	case ct == "direction":
		return truthOf((right == "reply") == e.response)
	case fib["result"] == "type" && slices.Equal(asList(fib["flags"]), []any{"daddr"}) && !e.response:
		return truthOf(right == "local")
	case fib["result"] == "type" && slices.Equal(asList(fib["flags"]), []any{"saddr"}) && !e.response:
		return truthOf(right == "unicast")
	case header["field"] == "port": // of either host
		if first, last := bounds(right); first <= float64(e.Port) && float64(e.Port) <= last {
			return yes
		}
		return isClientPort(right)
	case (header["field"] == "sport" || header["field"] == "dport") && header["protocol"] != "udp":
		return isClientPort(right)
	case header["field"] == "daddr", header["field"] == "saddr":
		return e.isAddress(right, (header["field"] == "daddr") != e.response)
	}
	return maybe
}

// port returns the port of an expression, and false if the expression is not the port of this host.
func (p packet) port(left statement) (float64, bool) {
	header, field := asObject(left["payload"]), "dport"
	if p.response {
		field = "sport"
	}
	if ct := asObject(left["ct"]); ct["key"] == "proto-dst" && ct["dir"] == "original" {
		return float64(p.Port), true
	}
	return float64(p.Port), header["field"] == field && (header["protocol"] == "tcp" || header["protocol"] == "th")
}

// isClientPort evaluates whether the port of the other host is a port, or in a range. It is not a privileged one.
func isClientPort(right any) truth {
	const privileged = 1023
	first, last := bounds(right)
	switch {
	case last <= privileged:
		return no
	case first <= privileged+1 && last == 65535:
		return yes
	}
	return maybe
}

// isLink evaluates whether the packet passes an interface; has is false for the direction in which it passes none.
func (e evaluation) isLink(c *chain, right any, has bool) truth {
	name, ok := right.(string)
	if !ok || !has { // the index of an interface that does not exist
		return no
	}
	link := e.Link
	if e.FirewalldLink != "" && c.isFirewalld() {
		link = e.FirewalldLink
	}
	if link == AnyLink {
		return maybe
	}
	return truthOf(matchesLink(name, link))
}

// isFirewalld reports whether firewalld adds the rules of interfaces to a chain. With the backend iptables, it has the
// tables in common with others.
func (c *chain) isFirewalld() bool {
	return c.Table == "firewalld" || strings.HasSuffix(c.Name, "_ZONES")
}

// matchesLink reports whether a name, or a prefix with "*", stands for an interface.
func matchesLink(pattern, link string) bool {
	prefix, isWildcard := strings.CutSuffix(pattern, "*")
	return pattern == link || isWildcard && strings.HasPrefix(link, prefix)
}

// isAddress evaluates whether the address of this host, or of the other one, is in a network or a range. The other
// host is not known, but has no loopback address.
func (p packet) isAddress(right any, own bool) truth {
	first, last := addressBounds(right)
	switch {
	case !first.IsValid() || !last.IsValid():
		return maybe
	case own:
		return truthOf(first.Compare(p.Address) <= 0 && p.Address.Compare(last) <= 0)
	case first.IsUnspecified() && !last.Next().IsValid():
		return yes
	case first.IsLoopback() && last.IsLoopback(), first == p.Address && last == p.Address, p.Unlisted:
		return no
	}
	return maybe
}

// addressBounds returns the first and the last address of an address, a network or a range; none if it is unknown.
func addressBounds(value any) (first, last netip.Addr) {
	object := asObject(value)
	if limits := asList(object["range"]); len(limits) == 2 {
		first, _ = addressBounds(limits[0])
		_, last = addressBounds(limits[1])
		return first, last
	}
	text, _ := value.(string)
	if network := asObject(object["prefix"]); network != nil {
		length, _ := network["len"].(float64)
		address, _ := network["addr"].(string)
		text = address + "/" + strconv.Itoa(int(length))
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		first, _ = netip.ParseAddr(text) // a name, or a set, is unknown
		return first, first
	}
	bytes := network.Masked().Addr().AsSlice()
	for bit := network.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ = netip.AddrFromSlice(bytes)
	return network.Masked().Addr(), last
}

// bounds returns the first and the last number of a number or a range.
func bounds(value any) (first, last float64) {
	if limits := asList(asObject(value)["range"]); len(limits) == 2 {
		first, _ = bounds(limits[0])
		_, last = bounds(limits[1])
		return first, last
	}
	found, _ := value.(float64)
	return found, found
}

// number returns the number in a text, or another one if there is none.
func number(text string, otherwise float64) float64 {
	if found, err := strconv.ParseFloat(text, 64); err == nil {
		return found
	}
	return otherwise
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}
