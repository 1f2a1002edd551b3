// SPDX-License-Identifier: Apache-2.0

// Package packetfilter reads the rules of nftables and iptables, and evaluates whether they accept a new connection to
// this host. It changes nothing. Start reading at Ruleset.Accepts.
package packetfilter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Ruleset contains the chains of nftables and iptables that packets to and from this host pass. Chains of the families
// netdev and bridge are not included: they see an uplink under its own name, also as a port of a bridge.
type Ruleset struct {
	chains []*chain
	sets   map[setKey]set
	texts  map[ruleKey]string // rules of nftables in its own syntax
}

// chain is a chain. Only a base chain has a hook.
type chain struct {
	Family, Table, Name string
	Type, Hook, Policy  string
	rules               []rule
}

// rule is a rule in the form of libnftables-json(5). A rule of iptables is translated into this form.
type rule struct {
	handle     int      // of nftables; 0 for a rule of iptables
	number     int      // in its chain, from 1
	arguments  []string // of iptables, behind "-A CHAIN"
	program    string   // iptables, ip6tables or iptables-legacy; "" for nftables
	statements []statement
}

type statement = map[string]any

type (
	setKey struct{ family, table, name string }
	set    struct {
		isMap     bool
		isOfIndex bool // names stand for the indexes of interfaces that exist
		elements  []any
	}
	ruleKey struct {
		family, table string
		handle        int
	}
)

// parseJSON adds the output of nft --json list ruleset.
func (r *Ruleset) parseJSON(output string) error {
	var document struct {
		NFTables []struct {
			Chain *chain
			Rule  *struct {
				Family, Table, Chain string
				Handle               int
				Expr                 []statement
			}
			Set, Map *struct {
				Family, Table, Name string
				Type                any
				Elem                json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(output), &document); err != nil {
		return fmt.Errorf("parsing the output of nft: %w", err)
	}
	r.sets = map[setKey]set{}
	for _, entry := range document.NFTables {
		for _, found := range []struct {
			isMap bool
			set   *struct {
				Family, Table, Name string
				Type                any
				Elem                json.RawMessage
			}
		}{{false, entry.Set}, {true, entry.Map}} {
			if found.set == nil {
				continue
			}
			var elements []any
			_ = json.Unmarshal(found.set.Elem, &elements) // a set without elements has none, or null
			r.sets[setKey{found.set.Family, found.set.Table, found.set.Name}] = set{
				isMap: found.isMap, isOfIndex: strings.Contains(fmt.Sprint(found.set.Type), "iface_index"), elements: elements,
			}
		}
		if entry.Chain != nil {
			r.chains = append(r.chains, entry.Chain)
		}
		if entry.Rule == nil {
			continue
		}
		if c := r.chain(entry.Rule.Family, entry.Rule.Table, entry.Rule.Chain); c != nil {
			c.rules = append(c.rules, rule{
				handle: entry.Rule.Handle, number: len(c.rules) + 1, statements: entry.Rule.Expr,
			})
		}
	}
	return nil
}

// chain returns a chain, nil if it does not exist.
func (r *Ruleset) chain(family, table, name string) *chain {
	for _, c := range r.chains {
		if c.Family == family && c.Table == table && c.Name == name {
			return c
		}
	}
	return nil
}

// parseTexts adds the rules in the output of nft --stateless --handle list ruleset. Long sets continue on more lines.
func (r *Ruleset) parseTexts(output string) {
	r.texts = map[ruleKey]string{}
	var family, table, text string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); len(words) > 2 && words[0] == "table" {
			family, table = words[1], words[2]
		}
		if strings.HasPrefix(line, "flags ") && strings.Contains(line, "dormant") { // its chains have no hooks
			r.chains = slices.DeleteFunc(r.chains, func(c *chain) bool { return c.Family == family && c.Table == table })
		}
		content, handle, isEnd := cutHandle(line)
		switch {
		case isEnd && strings.HasSuffix(content, "{"), strings.HasSuffix(line, ";"), line == "}":
			text = "" // the begin of a table, a chain or a set, the hook of a chain, or an end
		case isEnd:
			r.texts[ruleKey{family, table, handle}] = strings.TrimSpace(text + " " + content)
			text = ""
		default:
			text += " " + line
		}
	}
}

// cutHandle splits a line before "# handle NUMBER", and reports whether it ends with a handle.
func cutHandle(line string) (content string, handle int, ok bool) {
	at := strings.LastIndex(line, " # handle ")
	if at < 0 {
		return line, 0, false
	}
	_, err := fmt.Sscan(line[at+len(" # handle "):], &handle)
	return line[:at], handle, err == nil
}
