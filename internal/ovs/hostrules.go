// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// HostRules is the configuration outside NetworkManager that can name an uplink, or match it by its MAC, and that
// treats br-ex differently. The queueing disciplines of the uplink (tc) are not included: they apply to a port of a
// bridge too.
type HostRules struct {
	Uplink      string                `json:"uplink"`
	Filter      *packetfilter.Ruleset `json:"-"`
	FilterError error                 `json:"-"` // why the packet filter is unknown
	SSHPorts    []uint16              `json:"sshPorts,omitempty"`
	Zone        *firewalld.Zone       `json:"zone,omitempty"`        // nil: firewalld does not run, or is unknown
	Sysctls     []string              `json:"sysctls,omitempty"`     // settings of the uplink, with br-ex as the interface
	MatchFiles  []MatchFile           `json:"matchFiles,omitempty"`  // files that match the uplink's MAC and thereby br-ex
	PolicyRules []PolicyRule          `json:"policyRules,omitempty"` // routing policy rules of the uplink
	TableRules  []PolicyRule          `json:"tableRules,omitempty"`  // all of them, with numbers of tables
	Routes      []ScriptRoute         `json:"routes,omitempty"`
	Scripts     []string              `json:"scripts,omitempty"` // and other files with the name of the uplink
}

// ScriptRoute is a line of "ip route show" for a route of the uplink that a script, or an administrator, has added.
type ScriptRoute struct {
	Family networkmanager.Family `json:"family"`
	Text   string                `json:"text"`
}

// MatchFile is a .link file, or a file with udev rules, that matches an interface by its MAC alone.
type MatchFile struct {
	Path   string `json:"path"`
	MAC    string `json:"mac"`              // as the file contains it
	Driver string `json:"driver,omitempty"` // of the uplink; "" if it has none
}

// PolicyRule is a line of "ip rule show".
type PolicyRule struct {
	Family   string `json:"family"` // -4 or -6
	Priority string `json:"priority"`
	Text     string `json:"text"`
}

// GatherHostRules adds the HostRules of the uplink that a migration would attach to br-ex, if there is one. What cannot
// be read is skipped: it must not prevent a join.
func (f *Facts) GatherHostRules(ctx context.Context, options Options) {
	choice, err := chooseUplink(*f, options)
	link, known := f.Link(choice.name)
	if _, attached := BridgedUplink(*f); attached || err != nil || !known {
		return // Plan reports it
	}
	rules := &HostRules{Uplink: link.Name}
	rules.Filter, rules.FilterError = packetfilter.Read(ctx)
	if zone, err := firewalld.ReadZone(ctx, link.Name); err == nil {
		rules.Zone = &zone
	}
	sockets, _ := hostinfo.Sockets(func(network string, _ int) bool { return network == "tcp" })
	rules.SSHPorts = sshPorts(sockets)
	rules.Sysctls = readSysctls(link.Name, append(namedFiles("/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf",
		"/usr/local/lib/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf"), "/etc/sysctl.conf")...)
	device, _ := f.Device(link.Name)
	profile, _ := f.Profile(device.Active.UUID)
	rules.Scripts = readScripts(link.Name, profile.File, "/etc/NetworkManager/dispatcher.d/*",
		"/etc/NetworkManager/dispatcher.d/*/*", "/etc/rc.d/rc.local", "/etc/keepalived/*.conf",
		"/etc/systemd/system/*.socket", "/etc/systemd/system/*.socket.d/*.conf")
	rules.MatchFiles = readMatchFiles(link.MAC, "/etc/systemd/network/*.link", "/etc/udev/rules.d/*.rules")
	if driver, err := os.Readlink("/sys/class/net/" + link.Name + "/device/driver"); err == nil {
		for i := range rules.MatchFiles {
			rules.MatchFiles[i].Driver = filepath.Base(driver)
		}
	}
	for _, family := range []string{"-4", "-6"} {
		if output, err := command.Run(ctx, "ip", family, "rule", "show"); err == nil {
			rules.PolicyRules = append(rules.PolicyRules, rulesOfLink(parsePolicyRules(family, output), link.Name)...)
		}
		if output, err := command.Run(ctx, "ip", "-Numeric", family, "rule", "show"); err == nil {
			rules.TableRules = append(rules.TableRules, parsePolicyRules(family, output)...)
		}
	}
	for _, family := range networkmanager.Families() {
		output, err := command.Run(ctx, "ip", fmt.Sprintf("-%d", family), "route", "show", "table", "all", "dev", link.Name,
			"proto", "boot") // the default of "ip route add"
		for line := range strings.Lines(output) {
			if err == nil {
				rules.Routes = append(rules.Routes, ScriptRoute{Family: family, Text: strings.TrimSpace(line)})
			}
		}
	}
	f.HostRules = rules
}

// sshPorts returns the ports on which sshd, or a socket unit for it, accepts connections from other hosts.
func sshPorts(sockets []hostinfo.Socket) []uint16 {
	var ports []uint16
	for _, socket := range sockets {
		isSSH := socket.Process == "sshd" || socket.Service == "sshd.service" || socket.Address.Port() == 22
		if isSSH && !socket.Address.Addr().IsLoopback() {
			ports = lists.AppendMissing(ports, socket.Address.Port())
		}
	}
	if len(ports) == 0 {
		return []uint16{22}
	}
	return ports
}

// readLines calls visit with each line of the files that match patterns.
func readLines(visit func(file, line string), patterns ...string) {
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern) // the patterns are valid
		for _, file := range files {
			content, _ := os.ReadFile(file)
			for line := range strings.Lines(string(content)) {
				visit(file, strings.TrimSpace(line))
			}
		}
	}
}

// namedFiles returns the files that match patterns, in the order of systemd-sysctl: by name, without those whose name
// an earlier pattern contains.
func namedFiles(patterns ...string) []string {
	byName := map[string]string{}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern) // the patterns are valid
		for _, file := range files {
			if name := filepath.Base(file); byName[name] == "" {
				byName[name] = file
			}
		}
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, byName[name])
	}
	return files
}

// readSysctls returns the settings of an interface in files as sysctl.d(5) describes them, with br-ex in place of the
// interface. Settings that the files contain for br-ex are not included. The last file with a setting has precedence.
func readSysctls(link string, files ...string) []string {
	var found, present []string
	readLines(func(_, line string) {
		name, value, isSetting := strings.Cut(strings.TrimPrefix(line, "-"), "=")
		name = strings.TrimSpace(name)
		if !isSetting || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			return
		}
		parts := strings.Split(hostinfo.SysctlPath(name), "/")
		if len(parts) != 5 || parts[0] != "net" {
			return
		}
		setting := strings.Join([]string{parts[0], parts[1], parts[2], BridgeName, parts[4]}, ".") + " = "
		isSame := func(other string) bool { return strings.HasPrefix(other, setting) }
		isOfBridge, _ := path.Match(parts[3], BridgeName)
		isOfLink, _ := path.Match(parts[3], link)
		switch {
		case parts[3] == BridgeName:
			present = append(present, setting)
		case isOfLink && !isOfBridge: // a pattern for both has no precedence over the name
			found = append(slices.DeleteFunc(found, isSame), setting+strings.TrimSpace(value))
		}
	}, files...)
	return slices.DeleteFunc(found, func(setting string) bool {
		return slices.ContainsFunc(present, func(prefix string) bool { return strings.HasPrefix(setting, prefix) })
	})
}

// readScripts returns the files that name a link, and the files with routing rules that the scripts of
// NetworkManager-dispatcher-routing-rules apply together with an ifcfg file.
func readScripts(link, profile string, patterns ...string) []string {
	var files []string
	name := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(link) + `($|[^\w.-])`)
	readLines(func(file, line string) {
		if !strings.HasPrefix(line, "#") && name.MatchString(line) {
			files = lists.AppendMissing(files, file)
		}
	}, patterns...)
	if ifcfg, isIfcfg := strings.CutPrefix(filepath.Base(profile), "ifcfg-"); isIfcfg {
		for _, prefix := range []string{"rule-", "rule6-"} {
			found, _ := filepath.Glob(filepath.Join(filepath.Dir(profile), prefix+ifcfg))
			files = append(files, found...)
		}
	}
	return files
}

// restrictions lists the keys of a .link file and of a udev rule that br-ex does not match. Type=ether is none.
var restrictions = []string{
	"Path=", "Driver=", "OriginalName=", "PermanentMACAddress=", "Property=", "Kind=",
	"DRIVERS==", "KERNELS==", "KERNEL==", "KERNEL!=", "SUBSYSTEMS==", "ATTRS{", "ENV{",
}

// readMatchFiles returns the .link files and the files with udev rules that set the name or other properties of each
// interface with a MAC.
func readMatchFiles(mac string, patterns ...string) []MatchFile {
	var files []MatchFile
	restricted := map[string]bool{} // .link files: their keys are in lines of their own
	readLines(func(file, line string) {
		if mac == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			return
		}
		isLink := filepath.Ext(file) == ".link"
		if key, value, isSetting := strings.Cut(line, "="); isLink && isSetting {
			line = strings.TrimSpace(key) + "=" + strings.TrimSpace(value)
		}
		isRestricted := slices.ContainsFunc(restrictions, func(key string) bool {
			return strings.HasPrefix(line, key) || !isLink && strings.Contains(line, key)
		})
		restricted[file] = restricted[file] || isLink && isRestricted
		at := strings.Index(strings.ToLower(line), strings.ToLower(mac))
		matches := strings.HasPrefix(line, "MACAddress=")
		if !isLink {
			matches = strings.Contains(line, "ATTR{address}==") &&
				(strings.Contains(line, "NAME=") || strings.Contains(line, "NAME:="))
		}
		if at >= 0 && matches && !isRestricted {
			files = append(files, MatchFile{Path: file, MAC: line[at : at+len(mac)]})
		}
	}, patterns...)
	return slices.DeleteFunc(files, func(file MatchFile) bool { return restricted[file.Path] })
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
