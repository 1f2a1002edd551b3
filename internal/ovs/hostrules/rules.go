// SPDX-License-Identifier: Apache-2.0

// Package hostrules reads the configuration outside NetworkManager that treats an uplink differently from br-ex: packet
// filter, firewalld, sysctls, scripts, routing rules. It refuses a migration after which no user could log in. It warns
// about what no longer applies, with the commands that add it for br-ex.
package hostrules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

const bridge = openvswitch.ExternalBridge

// Uplink is the interface that is attached to br-ex, and its profile, which br-ex inherits.
type Uplink struct {
	Link    hostnet.Link
	Profile networkmanager.Profile
}

// Rules is the configuration outside NetworkManager that can name an uplink, or match it by its MAC, and that
// treats br-ex differently. The queueing disciplines of the uplink (tc) are not included: they apply to a port of a
// bridge too.
type Rules struct {
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

// Read returns the rules of an uplink. What cannot be read is skipped: it must not prevent a join.
func Read(ctx context.Context, uplink Uplink) *Rules {
	link := uplink.Link
	rules := &Rules{Uplink: link.Name}
	rules.Filter, rules.FilterError = packetfilter.Read(ctx)
	if zone, err := firewalld.ReadZone(ctx, link.Name); err == nil {
		rules.Zone = &zone
	}
	sockets, _ := hostinfo.Sockets(func(network string, _ int) bool { return network == "tcp" })
	rules.SSHPorts = sshPorts(sockets)
	rules.Sysctls = readSysctls(link.Name, append(namedFiles("/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf",
		"/usr/local/lib/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf"), "/etc/sysctl.conf")...)
	rules.Scripts = readScripts(link.Name, uplink.Profile.File, "/etc/NetworkManager/dispatcher.d/*",
		"/etc/NetworkManager/dispatcher.d/*/*", "/etc/rc.d/rc.local", "/etc/keepalived/*.conf",
		"/etc/systemd/system/*.socket", "/etc/systemd/system/*.socket.d/*.conf")
	rules.Scripts = append(rules.Scripts, filesWithName(link.Name, bindings, "/etc/systemd/system/*.service",
		"/etc/systemd/system/*.service.d/*.conf", "/etc/systemd/system/*.slice.d/*.conf", "/etc/chrony.conf",
		"/etc/chrony.d/*.conf")...)
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
	return rules
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
