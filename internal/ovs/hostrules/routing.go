// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// PolicyRule is a line of "ip rule show".
type PolicyRule struct {
	Family   string `json:"family"` // -4 or -6
	Priority string `json:"priority"`
	Text     string `json:"text"`
}

// ScriptRoute is a line of "ip route show" for a route of the uplink that a script, or an administrator, has added.
type ScriptRoute struct {
	Family networkmanager.Family `json:"family"`
	Text   string                `json:"text"`
}

func parsePolicyRules(family, output string) []PolicyRule {
	var rules []PolicyRule
	for line := range strings.Lines(output) {
		priority, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		rules = append(rules, PolicyRule{Family: family, Priority: priority, Text: strings.Join(strings.Fields(text), " ")})
	}
	return rules
}

// rulesOfLink returns the routing policy rules for packets that arrive on an interface or leave through it.
func rulesOfLink(rules []PolicyRule, link string) []PolicyRule {
	return slices.DeleteFunc(rules, func(rule PolicyRule) bool {
		words := strings.Fields(rule.Text)
		for i, word := range words[:max(len(words)-1, 0)] {
			if (word == "iif" || word == "oif") && words[i+1] == link {
				return false
			}
		}
		return true
	})
}

// foreignPolicyRules returns the rules that are not in the uplink's profile, whose copy names br-ex.
func foreignPolicyRules(rules []PolicyRule, original networkmanager.Settings) []PolicyRule {
	var own []string // priorities
	for _, family := range networkmanager.Families() {
		for _, rule := range original.List(family.Section(), "routing-rules") {
			own = append(own, fmt.Sprint(rule["priority"].Value()))
		}
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r PolicyRule) bool { return slices.Contains(own, r.Priority) })
}

// command returns the command that adds the rule for br-ex.
func (r PolicyRule) command(uplink string) string {
	words := strings.Fields(r.Text)
	for i := range words[:len(words)-1] {
		if (words[i] == "iif" || words[i] == "oif") && words[i+1] == uplink {
			words[i+1] = bridge
		}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "[detached]" })
	return fmt.Sprintf("ip %s rule add priority %s %s", r.Family, r.Priority, strings.Join(words, " "))
}

// foreignRoutes returns the routes that are not in the uplink's profile.
func foreignRoutes(routes []ScriptRoute, original networkmanager.Settings) []ScriptRoute {
	return slices.DeleteFunc(slices.Clone(routes), func(r ScriptRoute) bool {
		return slices.ContainsFunc(original.Routes(r.Family), func(own networkmanager.Route) bool {
			return own.Destination.String() == r.destination() && (own.Table == 0 || fmt.Sprint(own.Table) == r.value("table"))
		})
	})
}

// destination returns the destination with its prefix length.
func (r ScriptRoute) destination() string {
	destination, _, _ := strings.Cut(r.Text, " ")
	switch {
	case destination == "default" && r.Family == networkmanager.IPv6:
		return "::/0"
	case destination == "default":
		return "0.0.0.0/0"
	case strings.Contains(destination, "/"):
		return destination
	case r.Family == networkmanager.IPv6:
		return destination + "/128"
	}
	return destination + "/32"
}

// value returns the word behind a keyword, or "".
func (r ScriptRoute) value(keyword string) string {
	words := strings.Fields(r.Text)
	if i := slices.Index(words, keyword); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// command returns the command that adds the route to a profile, which br-ex inherits.
func (r ScriptRoute) command(uuid string) string {
	words := []string{r.destination()}
	if gateway := r.value("via"); gateway != "" {
		words = append(words, gateway)
	}
	if metric := r.value("metric"); metric != "" {
		words = append(words, metric)
	}
	for _, attribute := range []string{"table", "src", "mtu"} {
		if value := r.value(attribute); value != "" {
			words = append(words, attribute+"="+value)
		}
	}
	if slices.Contains(strings.Fields(r.Text), "onlink") {
		words = append(words, "onlink=true")
	}
	return fmt.Sprintf("nmcli connection modify uuid %s +%s.routes '%s'", uuid, r.Family.Section(),
		strings.Join(words, " "))
}
