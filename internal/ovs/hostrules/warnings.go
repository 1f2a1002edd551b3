// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Warning is configuration of the host that does not apply to br-ex, or only to br-ex, after the migration.
type Warning struct {
	Message string        `json:"message"`
	Remedy  report.Remedy `json:"remedy,omitempty"`
}

// Warnings returns warnings about what does not apply to br-ex. bridgeSysctls are the settings of br-ex in the agent's
// own file.
func (r *Rules) Warnings(uplink Uplink, bridgeSysctls []string) []Warning {
	if r == nil || r.Uplink != uplink.Link.Name {
		return nil
	}
	original := uplink.Profile
	var warnings []Warning
	warn := func(remedy report.Remedy, format string, args ...any) {
		warnings = append(warnings, Warning{Message: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	if r.FilterError != nil {
		warn("nft list ruleset", "whether the packet filter accepts packets on br-ex is unknown: %v", r.FilterError)
	} else if references := r.Filter.References(r.Uplink, bridge); len(references) > 0 {
		texts := lists.Map(references, func(r packetfilter.Reference) string { return r.Text })
		warn(r.filterRemedy(references), "rules of the packet filter name %s and do not apply to br-ex:\n%s", r.Uplink,
			strings.Join(texts, "\n"))
	}
	if zone := r.zoneOf(original.Settings); r.Zone != nil && zone != r.Zone.Name {
		warn(r.zoneRemedy(original),
			"%s is in the firewalld zone %s, which its NetworkManager profile does not name; br-ex will be in the zone %s",
			r.Uplink, r.Zone.Name, zone)
	}
	if sysctls := sysctlsForBridge(r.Sysctls, original.Settings, bridgeSysctls); len(sysctls) > 0 {
		commands := lists.Map(sysctls, func(setting string) string {
			return "echo " + report.ShellWord(setting) + " >>/etc/sysctl.d/90-br-ex.conf"
		})
		warn(report.Remedy(strings.Join(commands, "\n")),
			"sysctls of %s do not apply to br-ex, which has its addresses; set them for br-ex too:\n%s", r.Uplink,
			strings.Join(sysctls, "\n"))
	}
	for _, file := range r.Scripts {
		warn(report.Remedyf("cat %s # change it so that it also applies to br-ex", report.ShellWord(file)),
			"%s applies to %s and not to br-ex, which has its addresses", file, r.Uplink)
	}
	for _, file := range r.MatchFiles {
		warn(file.remedy(), "%s matches the MAC %s alone, and br-ex has the same MAC: it can rename br-ex at a boot",
			file.Path, file.MAC)
	}
	if own := foreignPolicyRules(r.PolicyRules, original.Settings); len(own) > 0 {
		commands := lists.Map(own, func(rule PolicyRule) string { return rule.command(r.Uplink) })
		warn(report.Remedy(strings.Join(commands, "\n")+"\n# also add them where the rules are configured, because they are "+
			"lost at a boot"), "routing policy rules name %s and do not apply to br-ex:\n%s", r.Uplink,
			strings.Join(lists.Map(own, func(rule PolicyRule) string { return rule.Priority + ": " + rule.Text }), "\n"))
	}
	if own := foreignRoutes(r.Routes, original.Settings); len(own) > 0 {
		commands := lists.Map(own, func(route ScriptRoute) string { return route.command(original.UUID()) })
		warn(report.Remedy(strings.Join(commands, "\n")),
			"routes over %s are not in its NetworkManager profile and will be lost; add them to the profile:\n%s", r.Uplink,
			strings.Join(lists.Map(own, func(route ScriptRoute) string { return route.Text }), "\n"))
	}
	return warnings
}

// sysctlsForBridge returns the settings without those that the agent's own file sets: NetworkManager processes router
// advertisements on br-ex, and not the kernel, unless the profile leaves IPv6 to the kernel.
func sysctlsForBridge(settings []string, original networkmanager.Settings, bridgeSysctls []string) []string {
	if original.Method(networkmanager.IPv6) == "ignore" {
		return settings
	}
	return slices.DeleteFunc(slices.Clone(settings), func(setting string) bool {
		return slices.ContainsFunc(bridgeSysctls, func(own string) bool {
			name, _, _ := strings.Cut(own, "=")
			return strings.HasPrefix(setting, "net.ipv6.conf."+bridge+"."+name+"=")
		})
	})
}
