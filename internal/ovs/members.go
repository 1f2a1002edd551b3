package ovs

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// cloneSuffix is configure-ovs.sh's for the profiles of a bond's members.
const cloneSuffix = "-slave-ovs-clone"

// Member is a NIC that is part of a bond, with the profile that makes it so.
type Member struct {
	Name     string                  `json:"name"` // of the NIC
	UUID     string                  `json:"uuid"`
	ID       string                  `json:"id"`
	Settings networkmanager.Settings `json:"settings"`
	Passing  bool                    `json:"passing,omitempty"` // NetworkManager made it up; it is not on disk
}

// membersOf lists the members of a bond: those that are in use, and those that
// would be at the next boot. A profile of several NICs (multi-connect) is one
// member for each that uses it.
func membersOf(facts Facts, bond, uuid string) []Member {
	var members []Member
	seen := func(name string) bool {
		return slices.ContainsFunc(members, func(m Member) bool { return m.Name == name })
	}
	for _, device := range facts.Devices {
		profile, ok := facts.Profile(device.Active.UUID)
		if ok && isPortOf(profile.Settings, bond, uuid) && !seen(device.Name) {
			members = append(members, newMember(device.Name, profile))
		}
	}
	for _, profile := range facts.Profiles {
		name := profile.Settings.Text("connection", "interface-name")
		if name != "" && isPortOf(profile.Settings, bond, uuid) && comesUpAtBoot(profile.Settings) && !seen(name) {
			members = append(members, newMember(name, profile))
		}
	}
	return members
}

// planMembers decides about the members of an uplink that is a bond; another
// one has none.
func planMembers(facts Facts, device networkmanager.Device, original networkmanager.Profile) ([]memberPlan, error) {
	if device.Type != networkmanager.Bond {
		return nil, nil
	}
	var members []memberPlan
	for _, m := range membersOf(facts, device.Name, original.UUID()) {
		if err := refuseName(m.Name); err != nil {
			return nil, err
		}
		priority, err := autoconnectPriority(facts, m.Name, m.Settings.Text("connection", "type"))
		if err != nil {
			return nil, err
		}
		link, _ := facts.Link(m.Name)
		members = append(members, memberPlan{m, priority, cardMAC(facts, link, m.Settings)})
	}
	if len(members) == 0 {
		return nil, Refuse("nmcli connection show; cat /proc/net/bonding/"+device.Name,
			"no NetworkManager profile makes an interface part of the bond %s, so it would have none after a boot with br-ex; give its members profiles", device.Name)
	}
	return members, nil
}

func plainMembers(planned []memberPlan) []Member {
	var members []Member
	for _, m := range planned {
		members = append(members, m.Member)
	}
	return members
}

func newMember(name string, p networkmanager.Profile) Member {
	return Member{Name: name, UUID: p.UUID(), ID: p.ID(), Settings: p.Settings, Passing: p.Passing()}
}

// isPortOf tells whether a profile makes its NIC part of a bond, which it can
// name by interface or by profile. The second names of the properties are
// those since NetworkManager 1.46.
func isPortOf(s networkmanager.Settings, bond, uuid string) bool {
	if s.Text("connection", "slave-type") != "bond" && s.Text("connection", "port-type") != "bond" {
		return false
	}
	master := s.Text("connection", "master")
	if master == "" {
		master = s.Text("connection", "controller")
	}
	return master == bond || master == uuid
}

func comesUpAtBoot(s networkmanager.Settings) bool {
	v, set := s["connection"]["autoconnect"]
	return !set || v.Value() != false
}

// memberSettings is the clone for a member: the same, but of ovs-if-phys0.
func memberSettings(m memberPlan, machineID, bondUUID string) networkmanager.Settings {
	s := m.Settings.Clone()
	delete(s, "match") // the interface's name or MAC is exact
	for _, section := range ofAddresses {
		delete(s, section)
	}
	kind := s.Text("connection", "type")
	s.Keep("connection", ofNIC...)
	name := m.Name + cloneSuffix
	copyIdentity(s, newConnection(name, kind, m.Name, machineID))
	makePortOf(s, bondUUID, "bond")
	s.Set("connection", "autoconnect-priority", m.priority)
	if m.cardMAC != nil {
		s.Drop("connection", "interface-name")
		s.Set("802-3-ethernet", "mac-address", m.cardMAC)
	}
	return s
}
