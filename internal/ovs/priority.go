// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	defaultAutoconnectPriority = 100 // the value of configure-ovs.sh
	maxAutoconnectPriority     = 999 // the maximum that NetworkManager accepts
)

// chooseAutoconnectPriority returns the priority for ovs-if-phys0, or for the clone
// of a member. It is higher than that of any other profile of the same type
// that could be activated on the interface at boot. The original profile
// remains unchanged.
func chooseAutoconnectPriority(facts Facts, name, kind string) (int32, error) {
	priority := int32(defaultAutoconnectPriority)
	for _, profile := range facts.Profiles {
		s := profile.Settings
		if ProfileUUID(facts.MachineID, profile.ID()) == profile.UUID() || !couldActivateOn(facts, s, name, kind) {
			continue
		}
		other := s.Int32("connection", "autoconnect-priority")
		if other >= maxAutoconnectPriority {
			return 0, Refuse(report.Remedy("nmcli connection modify uuid "+profile.UUID()+" connection.autoconnect-priority 0"),
				"the profile %s has the highest possible autoconnect priority and would be activated on %s instead of the "+
					"br-ex profile at the next boot; lower its priority", profile.ID(), name)
		}
		priority = max(priority, other+1)
	}
	return priority, nil
}

func couldActivateOn(facts Facts, s networkmanager.Settings, name, kind string) bool {
	own := boundInterface(facts, s)
	return s.Text("connection", "type") == kind && (own == "" || own == name)
}
