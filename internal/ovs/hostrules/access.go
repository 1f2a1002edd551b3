// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Access returns the connections to sshd that the packet filter accepts on the uplink, and must accept on br-ex. It
// refuses an uplink on which alone it accepts them. If the packet filter is unknown, there are none: that is a warning,
// and must not prevent a join.
func (r *Rules) Access(uplink Uplink) ([]packetfilter.Connection, error) {
	if r == nil || r.Uplink != uplink.Link.Name || r.FilterError != nil {
		return nil, nil //nolint:nilerr // a warning: unknown rules must not prevent a join
	}
	var kept []packetfilter.Connection
	var lost []string
	for _, prefix := range uplink.Link.Stable() {
		for _, port := range r.SSHPorts {
			connection := packetfilter.Connection{Link: r.Uplink, Address: prefix.Addr().Unmap(), Port: port, Unlisted: true}
			if !r.Filter.Accepts(connection) {
				connection.Unlisted = false
			}
			if !r.Filter.Accepts(connection) {
				continue
			}
			connection.Link = bridge
			kept = append(kept, connection)
			connection.FirewalldLink = r.linkInZone(uplink.Profile.Settings)
			if r.Filter.Accepts(connection) {
				continue
			}
			text := fmt.Sprintf("port %d of %s", port, connection.Address)
			if connection.Unlisted = false; r.Filter.Accepts(connection) {
				text += " from networks that no rule names"
			}
			lost = lists.AppendMissing(lost, text)
		}
	}
	if len(lost) == 0 {
		return kept, nil
	}
	commands := r.filterRemedy(r.Filter.References(r.Uplink, bridge))
	if zone := r.zoneOf(uplink.Profile.Settings); r.Zone != nil && zone != r.Zone.Name {
		commands = r.zoneRemedy(uplink.Profile)
	}
	return nil, report.Fail(report.Refused,
		commands+"\n# if there is another way to log in: rerun the command with --ignore-packet-filter",
		"the packet filter of this host accepts new SSH connections (%s) only on %s; after the change, they would arrive "+
			"on br-ex and be dropped", strings.Join(lost, ", "), r.Uplink)
}

// linkInZone returns the interface under whose name firewalld's rules treat packets of br-ex as they will after the
// migration: NetworkManager adds br-ex to the zone of its profile, or to the default zone.
func (r *Rules) linkInZone(original networkmanager.Settings) string {
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

// zoneOf returns firewalld's zone of an interface with a profile; "" if firewalld does not run.
func (r *Rules) zoneOf(profile networkmanager.Settings) string {
	if r.Zone == nil {
		return ""
	}
	return cmp.Or(profile.Text("connection", "zone"), r.Zone.Default)
}

// zoneRemedy makes the uplink's profile, which br-ex inherits, name the zone in which the uplink is now.
func (r *Rules) zoneRemedy(original networkmanager.Profile) report.Remedy {
	return report.Remedyf("nmcli connection modify uuid %s connection.zone %s", original.UUID(),
		report.ShellWord(r.Zone.Name))
}

// filterRemedy returns the commands that add the rules for br-ex, and the file that is loaded at boot.
func (r *Rules) filterRemedy(references []packetfilter.Reference) report.Remedy {
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
