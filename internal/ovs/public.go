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

// Public returns the migration with only the sections that documents may
// contain.
func (m Migration) Public() Migration {
	m.Backup.Settings = publicSettings(m.Backup.Settings)
	members := slices.Clone(m.Profiles.Members)
	for i := range members {
		members[i] = publicSettings(members[i])
	}
	m.Backup.Members = slices.Clone(m.Backup.Members)
	for i := range m.Backup.Members {
		m.Backup.Members[i].Settings = publicSettings(m.Backup.Members[i].Settings)
	}
	m.Profiles = Profiles{
		Bridge: publicSettings(m.Profiles.Bridge), NICPort: publicSettings(m.Profiles.NICPort), BridgePort: publicSettings(m.Profiles.BridgePort),
		NIC: publicSettings(m.Profiles.NIC), BridgeIP: publicSettings(m.Profiles.BridgeIP), Members: members,
	}
	m.Staged = StagedProfiles{Static: publicSettings(m.Staged.Static), StaticFinalMetric: publicSettings(m.Staged.StaticFinalMetric), DHCP: publicSettings(m.Staged.DHCP)}
	return m
}

func publicSettings(s networkmanager.Settings) networkmanager.Settings {
	if s == nil {
		return nil
	}
	kept := networkmanager.Settings{}
	for name, section := range s {
		if slices.Contains(publicSections, name) {
			kept[name] = section
		}
	}
	return kept
}
