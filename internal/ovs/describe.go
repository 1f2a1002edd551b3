// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
)

// Describe returns a few lines for a plan about what the migration would do.
func (m Migration) Describe() []string {
	if m.AlreadyAttached {
		return []string{fmt.Sprintf("br-ex already exists with uplink %s: nothing to do", m.Uplink)}
	}
	lines := []string{
		fmt.Sprintf("attach %s (selected by %s; NetworkManager profile %q) to the new Open vSwitch bridge br-ex; br-ex "+
			"takes over its addresses (%s), MAC, DHCP identity, DNS and routes",
			m.Uplink, m.Source, m.Backup.ID, nodeip.Format(m.Addresses)),
		fmt.Sprintf("add the NetworkManager profiles below; %q remains unchanged, with an autoconnect priority below %d",
			m.Backup.ID, m.Profiles.NIC.Int32("connection", "autoconnect-priority")),
		"expect up to 0.1 s of interruption; any failure, including a crash of the agent, triggers a rollback",
	}
	lines = append(lines, m.Notes...)
	return append(lines, nmprofile.Describe(m.Profiles.List())...)
}

// Differences returns the lines of the description that differ from an older migration.
func (m Migration) Differences(old Migration) []string {
	before := old.Describe()
	return slices.DeleteFunc(m.Describe(), func(line string) bool { return slices.Contains(before, line) })
}
