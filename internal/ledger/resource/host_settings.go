// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeports"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HostSetting describes a setting of the host that a node requires and no file of a payload contains. A join with
// --apply-host-settings makes its change. The plan, its notes and the kinds of changes are derived from it.
type HostSetting struct {
	Name   string // of the rule in a note
	Kind   ledger.Kind
	Driver ledger.Driver
	// HasMembers: the setting consists of several, the Names of its state.
	HasMembers bool
	// Change returns the change that a host requires, and false if it requires none.
	Change func(SettingFacts) (ledger.Change, bool)
	// Reason and Remedy are the note of a plan that does not apply the setting. Remedy "": it has no note.
	Reason string
	Remedy report.Remedy
}

// SettingFacts contains what changes of settings depend on.
type SettingFacts struct {
	SELinux      bool   // enforcing or permissive
	FirewallZone string // of firewalld; "" if it is not running or the settings are not applied
}

// HostSettings returns all settings in the order in which they are made.
func HostSettings() []HostSetting {
	return []HostSetting{
		{
			Name: "selinux-booleans", Kind: BooleansKind, Driver: Booleans{}, HasMembers: true,
			Change: func(f SettingFacts) (ledger.Change, bool) {
				return BooleanChange("as on OpenShift images", enabled(nodeBooleans, "on")...), f.SELinux
			},
			Reason: "pods that run systemd, and volumes on SMB and CephFS, require SELinux booleans that RHEL disables",
			Remedy: report.Remedy("setsebool -P " + strings.Join(enabled(nodeBooleans, "1"), " ")),
		},
		{
			Name: "firewall-ports", Kind: FirewallPortsKind, Driver: FirewallPorts{}, HasMembers: true,
			Change: func(f SettingFacts) (ledger.Change, bool) {
				return PortChange("traffic between nodes", f.FirewallZone, nodeports.Opened()...), f.FirewallZone != ""
			},
		},
	}
}

// nodeBooleans are the SELinux booleans that OpenShift images enable.
var nodeBooleans = []string{"container_manage_cgroup", "virt_use_samba", "container_use_cephfs"}

// enabled returns NAME=VALUE for each name.
func enabled(names []string, value string) []string {
	return lists.Map(names, func(name string) string { return name + "=" + value })
}
