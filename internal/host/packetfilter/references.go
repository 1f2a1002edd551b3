// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Reference is a rule, a set or a map that names an interface.
type Reference struct {
	Text    string
	Command string // adds the same for another interface, until the next boot; "" if it cannot be derived
	Program string // with which the rule was printed: nft, iptables, ip6tables or iptables-legacy
}

// References returns what names an interface and would not apply to another one. The commands are to be run in this
// order. What exists for the other interface too, and the rules of firewalld, are not included.
func (r *Ruleset) References(link, other string) []Reference {
	var found []Reference
	sets := map[setKey]bool{}
	for _, c := range r.chains {
		inserted := 0
		for _, rule := range c.rules {
			n := r.namesIn(c, rule, link, other)
			for _, name := range n.sets {
				if key := (setKey{c.Family, c.Table, name}); !sets[key] {
					sets[key] = true
					found = append(found, r.referenceInSet(key, link, other))
				}
			}
			if len(n.patterns) == 0 || c.isFirewalld() || hasCopy(c, rule, n.patterns, other) {
				continue
			}
			reference := r.referenceInRule(c, rule, n, other, inserted)
			if found = append(found, reference); reference.Command != "" {
				inserted++
			}
		}
	}
	return found
}

// names contains the names of an interface in a rule.
type names struct {
	patterns  []string
	isNegated bool     // a copy of the rule would match every other interface
	sets      []string // sets and maps with the name
}

func (r *Ruleset) namesIn(c *chain, of rule, link, other string) names {
	var n names
	for _, s := range of.statements {
		match, vmap := asObject(s["match"]), asObject(s["vmap"])
		left, right := asObject(match["left"]), match["right"]
		if marks := asObject(asObject(asObject(s["mangle"])["value"])["map"]); marks != nil {
			vmap = marks
		}
		if vmap != nil {
			left, right = asObject(vmap["key"]), vmap["data"]
		}
		if !namesLink(left) {
			continue
		}
		if name, ok := right.(string); ok && strings.HasPrefix(name, "@") {
			named := r.sets[setKey{c.Family, c.Table, name[1:]}]
			if len(patternsIn(named.elements, link, other)) > 0 {
				n.sets = append(n.sets, name[1:])
			}
			continue
		}
		patterns := patternsIn(right, link, other)
		n.patterns = append(n.patterns, patterns...)
		n.isNegated = n.isNegated || len(patterns) > 0 && match["op"] == "!="
	}
	return n
}

// namesLink reports whether an expression is, or contains, the interface of a packet.
func namesLink(left statement) bool {
	return slices.ContainsFunc(append(asList(left["concat"]), left), func(part any) bool {
		meta, _ := asObject(asObject(part)["meta"])["key"].(string)
		return slices.Contains([]string{"iif", "iifname", "oif", "oifname"}, meta)
	})
}

// patternsIn returns the names in a value that stand for link, or none if one of them stands for other.
func patternsIn(value any, link, other string) []string {
	var patterns []string
	hasOther := false
	var visit func(any)
	visit = func(value any) {
		switch value := value.(type) {
		case string:
			hasOther = hasOther || matchesLink(value, other)
			if matchesLink(value, link) && !slices.Contains(patterns, value) {
				patterns = append(patterns, value)
			}
		case []any:
			for _, element := range value {
				visit(element)
			}
		case map[string]any:
			for _, name := range []string{"set", "concat", "elem", "val"} {
				visit(value[name])
			}
		}
	}
	if visit(value); hasOther {
		return nil
	}
	return patterns
}

// hasCopy reports whether a chain has the same rule for other.
func hasCopy(c *chain, r rule, patterns []string, other string) bool {
	var replacements []string
	for _, pattern := range patterns {
		replacements = append(replacements, strconv.Quote(pattern), strconv.Quote(other))
	}
	text := normalize(r, replacements...)
	return slices.ContainsFunc(c.rules, func(copied rule) bool { return normalize(copied) == text })
}

var (
	counters = regexp.MustCompile(`"counter":\{[^}]*\}`)
	indexes  = regexp.MustCompile(`"key":"([io]if)"`)
)

// normalize returns the statements of a rule after replacements, without counters, with names of interfaces instead of
// indexes, without the names of meters, and with the elements of sets in one order: that of nft depends on the
// elements.
func normalize(r rule, replacements ...string) string {
	encoded, _ := json.Marshal(r.statements) // was decoded from JSON, or has only strings and numbers
	text := strings.NewReplacer(replacements...).Replace(string(encoded))
	text = indexes.ReplaceAllString(counters.ReplaceAllString(text, `"counter":null`), `"key":"${1}name"`)
	var statements any
	_ = json.Unmarshal([]byte(text), &statements) // is valid
	sortSets(statements)
	encoded, _ = json.Marshal(statements)
	return string(encoded)
}

func sortSets(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			sortSets(element)
		}
	case map[string]any:
		delete(asObject(value["meter"]), "name") // differs in a copy
		for name, inner := range value {
			sortSets(inner)
			if elements := asList(inner); name == "set" {
				slices.SortFunc(elements, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
	}
}

// indexWords matches the keywords with which a rule of nftables names an interface that must exist.
var indexWords = regexp.MustCompile(`\b([io]if) `)

// meterNames matches the name of a meter, which only one rule can have.
var meterNames = regexp.MustCompile(`\bmeter (\S+)`)

// referenceInRule returns the reference of a rule. The copy for other precedes the rule in its chain, into which the
// commands before this one have inserted a number of rules.
func (r *Ruleset) referenceInRule(c *chain, of rule, n names, other string, inserted int) Reference {
	if of.program != "" {
		return iptablesReference(c, of, n, other, inserted)
	}
	place := fmt.Sprintf("%s %s %s", c.Family, report.ShellWord(c.Table), report.ShellWord(c.Name))
	text := r.texts[ruleKey{c.Family, c.Table, of.handle}]
	reference := Reference{Text: place + ": " + text, Program: "nft"}
	if text == "" || n.isNegated {
		return reference
	}
	for _, pattern := range n.patterns {
		text = strings.ReplaceAll(text, strconv.Quote(pattern), strconv.Quote(other))
	}
	text = meterNames.ReplaceAllString(text, "meter ${1}_"+strings.ReplaceAll(other, "-", "_"))
	reference.Command = fmt.Sprintf("nft insert rule %s handle %d %s", place, of.handle,
		report.ShellWord(indexWords.ReplaceAllString(text, "${1}name ")))
	return reference
}

func iptablesReference(c *chain, of rule, n names, other string, inserted int) Reference {
	table := strings.TrimPrefix(c.Table, legacyPrefix)
	var before, after []string
	for i, argument := range of.arguments {
		before = append(before, report.ShellWord(argument))
		if i > 0 && slices.Contains([]string{"-i", "-o"}, of.arguments[i-1]) &&
			slices.Contains(n.patterns, wildcard(argument)) {
			argument = other
		}
		after = append(after, report.ShellWord(argument))
	}
	reference := Reference{
		Text:    fmt.Sprintf("%s -t %s -A %s %s", of.program, table, c.Name, strings.Join(before, " ")),
		Program: of.program,
	}
	if !n.isNegated {
		reference.Command = fmt.Sprintf("%s -t %s -I %s %d %s", of.program, table, c.Name, of.number+inserted,
			strings.Join(after, " "))
	}
	return reference
}

// referenceInSet returns the reference of a named set or map.
func (r *Ruleset) referenceInSet(key setKey, link, other string) Reference {
	named, kind := r.sets[key], "set"
	if named.isMap {
		kind = "map"
	}
	place := fmt.Sprintf("%s %s %s", key.family, report.ShellWord(key.table), report.ShellWord(key.name))
	reference := Reference{Text: kind + " " + place, Program: "nft"}
	if named.isOfIndex {
		return reference
	}
	var added []string
	for _, element := range named.elements {
		if len(patternsIn(element, link, other)) == 0 {
			continue
		}
		text, ok := elementFor(element, link, other)
		if !ok {
			return reference
		}
		added = append(added, text)
	}
	reference.Command = "nft add element " + place + " " + report.ShellWord("{ "+strings.Join(added, ", ")+" }")
	return reference
}

// elementFor returns an element of a set or a map for another interface, and false if its type is not supported.
func elementFor(element any, link, other string) (string, bool) {
	switch element := element.(type) {
	case string:
		if matchesLink(element, link) {
			element = other
		}
		return strconv.Quote(element), true
	case float64:
		return strconv.FormatFloat(element, 'f', -1, 64), true
	case map[string]any:
		if inner, ok := element["elem"]; ok { // with a comment or a counter
			return elementFor(asObject(inner)["val"], link, other)
		}
		if first, last := addressBounds(element); first.IsValid() && first != last {
			return first.String() + "-" + last.String(), true
		}
		if first, last := bounds(element); first < last {
			return fmt.Sprintf("%.0f-%.0f", first, last), true
		}
		var parts []string
		for _, value := range asList(element["concat"]) {
			part, ok := elementFor(value, link, other)
			if !ok {
				return "", false
			}
			parts = append(parts, strings.Trim(part, `"`))
		}
		return strings.Join(parts, " . "), len(parts) > 0
	case []any: // a key with its value in a map
		if len(element) != 2 {
			return "", false
		}
		key, ok := elementFor(element[0], link, other)
		for name, value := range asObject(element[1]) {
			target, _ := asObject(value)["target"].(string)
			return strings.TrimSpace(key + " : " + name + " " + target), ok
		}
	}
	return "", false
}
