// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// publicSections lists the sections of profiles that documents may contain. All other
// sections are omitted: NetworkManager does not return passwords, but sections
// such as 802-1x, proxy and user contain accounts, URLs and arbitrary data.
var publicSections = []string{
	"connection", "match", "ipv4", "ipv6", "hostname", "802-3-ethernet", "ethtool", "link", "dcb", "sriov", "tc",
	"vlan", "bond", "bond-port", "bridge", "bridge-port", "team", "team-port",
	"ovs-bridge", "ovs-port", "ovs-interface", "ovs-external-ids", "ovs-other-config",
}

// PublicSettings returns the sections of a profile that documents may contain.
func PublicSettings(s networkmanager.Settings) networkmanager.Settings {
	kept := networkmanager.Settings{}
	for name, section := range s {
		if slices.Contains(publicSections, name) {
			kept[name] = section
		}
	}
	return kept
}
