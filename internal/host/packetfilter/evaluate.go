// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"net/netip"
	"slices"
	"strings"
)

// Connection is a new TCP connection from another host to a port of this host.
type Connection struct {
	Link    string     `json:"link"`    // interface on which its packets arrive, and leave the host
	Address netip.Addr `json:"address"` // of this host
	Port    uint16     `json:"port"`
	// FirewalldLink is the interface under whose name firewalld's rules see the packets: another one in the same zone,
	// if Link does not exist yet. AnyLink means that the zone is not known. "": Link.
	FirewalldLink string `json:"firewalldLink,omitempty"`
	// Unlisted means that the address of the other host is in no network that a rule names.
	Unlisted bool `json:"unlisted,omitempty"`
}

// AnyLink stands for an unknown interface.
const AnyLink = "*"

// Accepts reports whether the rules can accept the connection: its first packet, and the response. What cannot be
// evaluated, such as the address of the other host, is assumed to have the value with which the rules accept it.
func (r *Ruleset) Accepts(c Connection) bool {
	return r.accepts(packet{Connection: c}) && r.accepts(packet{Connection: c, response: true})
}

// packet is a packet of a connection to a port of this host, or the response.
type packet struct {
	Connection
	response bool
}

// outcome is the set of the possible ends of a chain.
type outcome uint8

const (
	accepted outcome = 1 << iota
	dropped
	returned // the next rule of the calling chain follows, or the policy
)

// accepts reports whether each base chain of the packet's hooks can accept the packet: the decision of one of them to
// accept it does not end the others.
func (r *Ruleset) accepts(p packet) bool {
	path := []string{"prerouting", "input"}
	if p.response {
		path = []string{"output", "postrouting"}
	}
	e := evaluation{Ruleset: r, packet: p, isMarked: new(bool)}
	e.passes(path) // finds the rules that set the mark, in any order of the chains
	return e.passes(path)
}

// passes reports whether each base chain of the hooks can accept the packet.
func (e evaluation) passes(hooks []string) bool {
	e.known = map[*chain]outcome{}
	isPassed := true
	for _, c := range e.chains {
		if !slices.Contains(hooks, c.Hook) || !slices.Contains([]string{"inet", e.family()}, c.Family) {
			continue
		}
		if e.response && c.Type == "nat" {
			continue // only the first packet of a connection passes it
		}
		result := e.run(c)
		if result&returned != 0 && c.Policy != "drop" {
			result |= accepted
		}
		isPassed = isPassed && result&accepted != 0
	}
	return isPassed
}

func (p packet) family() string {
	if p.Address.Is4() {
		return "ip"
	}
	return "ip6"
}

// evaluation evaluates the chains for one packet.
type evaluation struct {
	*Ruleset
	packet
	known    map[*chain]outcome
	isMarked *bool // a rule can have set the mark of the packet
}

// run returns the possible outcomes of a chain.
func (e evaluation) run(c *chain) outcome {
	if c == nil {
		return accepted | dropped | returned
	}
	if result, ok := e.known[c]; ok {
		return result
	}
	e.known[c] = accepted | dropped | returned // for a loop, which the kernel refuses
	result := outcome(0)
	for _, rule := range c.rules {
		found, ends := e.apply(c, rule)
		if result |= found; ends {
			e.known[c] = result
			return result
		}
	}
	e.known[c] = result | returned
	return result | returned
}

// apply returns the outcomes of a rule, and whether the rules behind it are not reached.
func (e evaluation) apply(c *chain, r rule) (result outcome, ends bool) {
	matches := yes
	for _, s := range r.statements {
		for name, value := range s {
			switch name {
			case "match":
				match := asObject(value)
				matches = matches.and(e.match(c, match["op"], asObject(match["left"]), match["right"]))
			case "vmap":
				found, ends := e.decideByMap(c, asObject(value))
				return found, ends && matches == yes
			case "mangle":
				mangle := asObject(value)
				if found := asObject(asObject(mangle["value"])["map"]); found != nil {
					matches = matches.and(e.isKey(c, found))
				}
				*e.isMarked = *e.isMarked || matches != no && isMark(asObject(mangle["key"])) && setsMark(mangle["value"])
			case "counter", "log", "notrack", "ct helper", "ct timeout", "ct expectation", "map", "flow", "dup",
				"last":
			case "limit", "quota", "ct count", "set", "meter":
				matches = matches.and(maybe)
			default:
				found, isEnd := e.decide(c, name, value)
				if result |= found; isEnd {
					return result, matches == yes
				}
				if found != 0 {
					matches = maybe
				}
			}
			if matches == no {
				return result, false
			}
		}
	}
	return result, false
}

// decide returns the outcomes of a statement that ends the rule, and whether the rules behind it are not reached. An
// unknown statement can do anything.
func (e evaluation) decide(c *chain, name string, value any) (result outcome, ends bool) {
	target, _ := asObject(value)["target"].(string)
	switch name {
	case "accept", "queue", "dnat", "snat", "redirect", "masquerade", "tproxy", "synproxy":
		return accepted, true
	case "drop", "reject":
		return dropped, true
	case "return":
		return returned, true
	case "continue":
		return 0, false
	case "goto":
		return e.run(e.chain(c.Family, c.Table, target)), true
	case "jump":
		result = e.run(e.chain(c.Family, c.Table, target))
		return result &^ returned, result&returned == 0
	}
	if kind := asObject(value)["type"]; name == "xt" && kind == "match" {
		return returned, false // an extension of iptables in a table that iptables does not print
	}
	return accepted | dropped, false
}

// decideByMap returns the outcomes of a vmap statement, and whether the rules behind it are not reached.
func (e evaluation) decideByMap(c *chain, vmap statement) (result outcome, ends bool) {
	if !e.hasHeader(asObject(vmap["key"])) {
		return 0, false
	}
	elements, known := e.elements(c, vmap["data"])
	if !known {
		return accepted | dropped | returned, false
	}
	ends = true
	for _, element := range elements {
		pair, ok := element.([]any)
		if !ok || len(pair) != 2 {
			return accepted | dropped | returned, false
		}
		matches := e.equals(c, asObject(vmap["key"]), pair[0])
		if matches == no {
			continue
		}
		for name, value := range asObject(pair[1]) {
			found, isEnd := e.decide(c, name, value)
			result, ends = result|found, ends && isEnd
		}
		if matches == yes {
			return result, ends
		}
	}
	return result, false
}

// isKey evaluates whether a map contains the value of its expression.
func (e evaluation) isKey(c *chain, found statement) truth {
	elements, known := e.elements(c, found["data"])
	if !known {
		return maybe
	}
	var keys []any
	for _, element := range elements {
		if pair := asList(element); len(pair) == 2 {
			keys = append(keys, pair[0])
		}
	}
	return e.isOneOf(c, asObject(found["key"]), keys)
}

// elements returns the elements of an anonymous or named set or map.
func (e evaluation) elements(c *chain, value any) ([]any, bool) {
	if name, ok := value.(string); ok {
		named, ok := e.sets[setKey{c.Family, c.Table, strings.TrimPrefix(name, "@")}]
		return named.elements, ok
	}
	elements, ok := asObject(value)["set"].([]any)
	return elements, ok
}

func asObject(value any) statement {
	object, _ := value.(map[string]any)
	return object
}
