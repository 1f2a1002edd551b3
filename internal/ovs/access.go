// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
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

// Findings returns the warnings of the migration as findings.
func (m Migration) Findings() []report.Finding {
	return lists.Map(m.Warnings, func(w Warning) report.Finding {
		return report.Finding{
			Check: "uplink-rules", Severity: report.SeverityWarning, Message: w.Message, Remedy: w.Remedy,
		}
	})
}

// CheckAccess refuses a migration after which the packet filter would accept no new SSH connections. It needs no Open
// vSwitch, and reports no other reason to refuse the migration.
func CheckAccess(facts Facts, options Options) error {
	if facts.HostRules == nil {
		return nil
	}
	device, _ := facts.Device(facts.HostRules.Uplink)
	original, _ := facts.Profile(device.Active.UUID)
	_, err := keptAccess(facts, facts.HostRules.Uplink, original, options)
	return err
}

// keptAccess returns the connections to sshd that the packet filter accepts on the uplink, and must accept on br-ex. It
// refuses an uplink on which alone it accepts them, unless the options confirm that.
func keptAccess(
	facts Facts, uplink string, original networkmanager.Profile, options Options,
) ([]packetfilter.Connection, error) {
	rules := facts.HostRules
	if rules == nil || rules.Uplink != uplink || rules.FilterError != nil || options.IgnorePacketFilter {
		return nil, nil //nolint:nilerr // a warning: unknown rules must not prevent a join
	}
	var kept []packetfilter.Connection
	var lost []string
	link, _ := facts.Link(uplink)
	for _, prefix := range link.Stable() {
		for _, port := range rules.SSHPorts {
			connection := packetfilter.Connection{Link: uplink, Address: prefix.Addr().Unmap(), Port: port, Unlisted: true}
			if !rules.Filter.Accepts(connection) {
				connection.Unlisted = false
			}
			if !rules.Filter.Accepts(connection) {
				continue
			}
			connection.Link = BridgeName
			kept = append(kept, connection)
			connection.FirewalldLink = rules.linkInZone(original.Settings)
			if rules.Filter.Accepts(connection) {
				continue
			}
			text := fmt.Sprintf("port %d of %s", port, connection.Address)
			if connection.Unlisted = false; rules.Filter.Accepts(connection) {
				text += " from networks that no rule names"
			}
			lost = lists.AppendMissing(lost, text)
		}
	}
	if len(lost) == 0 {
		return kept, nil
	}
	commands := rules.filterRemedy(rules.Filter.References(uplink, BridgeName))
	if zone := rules.zoneOf(original.Settings); rules.Zone != nil && zone != rules.Zone.Name {
		commands = rules.zoneRemedy(original)
	}
	return nil, Refuse(commands+"\n# if there is another way to log in: rerun the command with --ignore-packet-filter",
		"the packet filter of this host accepts new SSH connections (%s) only on %s; after the change, they would arrive "+
			"on br-ex and be dropped", strings.Join(lost, ", "), uplink)
}

// linkInZone returns the interface under whose name firewalld's rules treat packets of br-ex as they will after the
// migration: NetworkManager adds br-ex to the zone of its profile, or to the default zone.
func (r HostRules) linkInZone(original networkmanager.Settings) string {
	if r.Zone == nil {
		return ""
	}
	switch r.zoneOf(original) {
	case r.Zone.Name:
		return r.Uplink
	case r.Zone.Default:
		return ""
	}
	return packetfilter.AnyLink
}

// hostWarnings returns warnings about configuration of the host outside the uplink's profile.
func hostWarnings(facts Facts, link hostnet.Link, original networkmanager.Profile) []Warning {
	rules := facts.HostRules
	if rules == nil || rules.Uplink != link.Name {
		return nil
	}
	var warnings []Warning
	warn := func(remedy report.Remedy, format string, args ...any) {
		warnings = append(warnings, Warning{Message: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	if rules.FilterError != nil {
		warn("nft list ruleset", "whether the packet filter accepts packets on br-ex is unknown: %v", rules.FilterError)
	} else if references := rules.Filter.References(link.Name, BridgeName); len(references) > 0 {
		texts := lists.Map(references, func(r packetfilter.Reference) string { return r.Text })
		warn(rules.filterRemedy(references), "rules of the packet filter name %s and do not apply to br-ex:\n%s", link.Name,
			strings.Join(texts, "\n"))
	}
	if zone := rules.zoneOf(original.Settings); rules.Zone != nil && zone != rules.Zone.Name {
		warn(rules.zoneRemedy(original),
			"%s is in the firewalld zone %s, which its NetworkManager profile does not name; br-ex will be in the zone %s",
			link.Name, rules.Zone.Name, zone)
	}
	if sysctls := sysctlsForBridge(rules.Sysctls, original.Settings); len(sysctls) > 0 {
		commands := lists.Map(sysctls, func(setting string) string {
			return "echo " + report.ShellWord(setting) + " >>/etc/sysctl.d/90-br-ex.conf"
		})
		warn(report.Remedy(strings.Join(commands, "\n")),
			"sysctls of %s do not apply to br-ex, which has its addresses; set them for br-ex too:\n%s", link.Name,
			strings.Join(sysctls, "\n"))
	}
	for _, file := range rules.Scripts {
		warn(report.Remedyf("cat %s # change it so that it also applies to br-ex", report.ShellWord(file)),
			"%s applies to %s and not to br-ex, which has its addresses", file, link.Name)
	}
	for _, file := range rules.MatchFiles {
		warn(file.remedy(), "%s matches the MAC %s alone, and br-ex has the same MAC: it can rename br-ex at a boot",
			file.Path, file.MAC)
	}
	if own := foreignPolicyRules(rules.PolicyRules, original.Settings); len(own) > 0 {
		commands := lists.Map(own, func(r PolicyRule) string { return r.command(link.Name) })
		warn(report.Remedy(strings.Join(commands, "\n")+"\n# also add them where the rules are configured, because they are "+
			"lost at a boot"), "routing policy rules name %s and do not apply to br-ex:\n%s", link.Name,
			strings.Join(lists.Map(own, func(r PolicyRule) string { return r.Priority + ": " + r.Text }), "\n"))
	}
	if own := foreignRoutes(rules.Routes, original.Settings); len(own) > 0 {
		commands := lists.Map(own, func(r ScriptRoute) string { return r.command(original.UUID()) })
		warn(report.Remedy(strings.Join(commands, "\n")),
			"routes over %s are not in its NetworkManager profile and will be lost; add them to the profile:\n%s", link.Name,
			strings.Join(lists.Map(own, func(r ScriptRoute) string { return r.Text }), "\n"))
	}
	return warnings
}

// sysctlsForBridge returns the settings without those that the agent's own file sets: NetworkManager processes router
// advertisements on br-ex, and not the kernel, unless the profile leaves IPv6 to the kernel.
func sysctlsForBridge(settings []string, original networkmanager.Settings) []string {
	if original.Method(networkmanager.IPv6) == "ignore" {
		return settings
	}
	return slices.DeleteFunc(slices.Clone(settings), func(setting string) bool {
		return slices.ContainsFunc(bridgeSysctls, func(own string) bool {
			name, _, _ := strings.Cut(own, "=")
			return strings.HasPrefix(setting, "net.ipv6.conf."+BridgeName+"."+name+"=")
		})
	})
}

// zoneOf returns firewalld's zone of an interface with a profile; "" if firewalld does not run.
func (r HostRules) zoneOf(profile networkmanager.Settings) string {
	if r.Zone == nil {
		return ""
	}
	return cmp.Or(profile.Text("connection", "zone"), r.Zone.Default)
}

// zoneRemedy makes the uplink's profile, which br-ex inherits, name the zone in which the uplink is now.
func (r HostRules) zoneRemedy(original networkmanager.Profile) report.Remedy {
	return report.Remedyf("nmcli connection modify uuid %s connection.zone %s", original.UUID(),
		report.ShellWord(r.Zone.Name))
}

// filterRemedy returns the commands that add the rules for br-ex, and the file that is loaded at boot.
func (r HostRules) filterRemedy(references []packetfilter.Reference) report.Remedy {
	var lines, notes []string
	for _, reference := range references {
		if reference.Command == "" {
			notes = lists.AppendMissing(notes, "# change by hand, so that it applies to br-ex too: "+reference.Text)
			continue
		}
		lines = append(lines, reference.Command)
		file := "/etc/sysconfig/nftables.conf, or the files that it includes"
		switch {
		case reference.Program != "nft" && r.Zone != nil: // of firewalld
			file = "/etc/firewalld/direct.xml"
		case reference.Program != "nft":
			file = "/etc/sysconfig/" + strings.TrimSuffix(reference.Program, "-legacy")
		}
		notes = lists.AppendMissing(notes, "# also add the rules to the configuration that is loaded at boot, such as "+file)
	}
	if len(lines) == 0 {
		lines = []string{"nft --handle list ruleset"}
	}
	return report.Remedy(strings.Join(slices.Concat(lines, notes), "\n"))
}

// remedy restricts the file to the uplink.
func (f MatchFile) remedy() report.Remedy {
	path := report.ShellWord(f.Path)
	switch {
	case !strings.HasSuffix(f.Path, ".link"):
		return report.Remedyf(`sed -i 's/ATTR{address}=="%s"/KERNEL!="br-ex", &/' %s`, f.MAC, path)
	case f.Driver == "":
		return report.Remedyf("cat %s # add OriginalName= or Driver= of the uplink to its section [Match]", path)
	}
	return report.Remedyf(`sed -i '/^\[Match\]/a Driver=%s' %s`, f.Driver, path)
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
			words[i+1] = BridgeName
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
