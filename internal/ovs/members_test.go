// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// newBondPort returns a profile that makes a NIC a port of master.
func newBondPort(id, nic, master string, change func(networkmanager.Settings)) networkmanager.Profile {
	s := networkmanager.Settings{}
	s.Set("connection", "id", id)
	s.Set("connection", "uuid", "uuid of "+id)
	s.Set("connection", "type", "802-3-ethernet")
	s.Set("connection", "master", master)
	s.Set("connection", "slave-type", "bond")
	if nic != "" {
		s.Set("connection", "interface-name", nic)
	}
	if change != nil {
		change(s)
	}
	return networkmanager.Profile{Settings: s, File: "/etc/NetworkManager/system-connections/" + id}
}

func newDeviceUsing(nic, id string) networkmanager.Device {
	return networkmanager.Device{
		Name: nic, Type: networkmanager.Ethernet, Managed: true,
		Active: networkmanager.Active{UUID: "uuid of " + id, State: networkmanager.Activated},
	}
}

func TestBondMembers(t *testing.T) {
	byHand := func(s networkmanager.Settings) { s.Set("connection", "autoconnect", false) }
	renamed := func(s networkmanager.Settings) {
		s.Drop("connection", "master", "slave-type")
		s.Set("connection", "controller", "bond0")
		s.Set("connection", "port-type", "bond")
	}
	links := []hostnet.Link{{Name: "eth0"}, {Name: "eth1", PermanentMAC: "fa:16:3e:00:00:0e"}}
	tests := map[string]struct {
		profiles []networkmanager.Profile
		devices  []networkmanager.Device
		want     string // NIC=profile ...
	}{
		"by interface": {
			[]networkmanager.Profile{newBondPort("a", "eth0", "bond0", nil)},
			[]networkmanager.Device{newDeviceUsing("eth0", "a")},
			"eth0=a",
		},
		"by profile": {
			[]networkmanager.Profile{newBondPort("a", "eth0", "uuid of bond", nil)},
			[]networkmanager.Device{newDeviceUsing("eth0", "a")},
			"eth0=a",
		},
		"by newer names": {
			[]networkmanager.Profile{newBondPort("a", "eth0", "", renamed)},
			[]networkmanager.Device{newDeviceUsing("eth0", "a")},
			"eth0=a",
		},
		"of another bond": {
			[]networkmanager.Profile{newBondPort("a", "eth0", "bond1", nil)},
			[]networkmanager.Device{newDeviceUsing("eth0", "a")},
			"",
		},
		"of a bridge of that name": {
			[]networkmanager.Profile{
				newBondPort("a", "eth0", "bond0", func(s networkmanager.Settings) { s.Set("connection", "slave-type", "bridge") }),
			},
			[]networkmanager.Device{newDeviceUsing("eth0", "a")},
			"",
		},
		"in use, though not at boot": {
			[]networkmanager.Profile{newBondPort("a", "eth0", "bond0", byHand)},
			[]networkmanager.Device{newDeviceUsing("eth0", "a")},
			"eth0=a",
		},
		"at boot, though not in use": {[]networkmanager.Profile{newBondPort("a", "eth0", "bond0", nil)}, nil, "eth0=a"},
		"neither":                    {[]networkmanager.Profile{newBondPort("a", "eth0", "bond0", byHand)}, nil, ""},
		"two profiles of one NIC": {
			[]networkmanager.Profile{newBondPort("a", "eth0", "bond0", nil), newBondPort("b", "eth0", "bond0", nil)},
			[]networkmanager.Device{newDeviceUsing("eth0", "b")},
			"eth0=b",
		},
		"one profile of two NICs": {
			[]networkmanager.Profile{newBondPort("a", "", "bond0", nil)},
			[]networkmanager.Device{newDeviceUsing("eth0", "a"), newDeviceUsing("eth1", "a")},
			"eth0=a eth1=a",
		},
		"at boot, by MAC": {
			[]networkmanager.Profile{newBondPort("a", "", "bond0", func(s networkmanager.Settings) {
				s.Set("802-3-ethernet", "mac-address", []byte{0xfa, 0x16, 0x3e, 0, 0, 0x0e})
			})},
			nil, "eth1=a",
		},
		"for a NIC that does not exist": {[]networkmanager.Profile{newBondPort("a", "", "bond0", nil)}, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			facts := Facts{Profiles: test.profiles, Devices: test.devices, Links: links}
			for _, m := range bondMembers(facts, "bond0", "uuid of bond") {
				got = append(got, m.Name+"="+m.ID)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A profile that is bound to the MAC of another NIC cannot be activated on the uplink.
func TestPriorityOfProfileForAnotherNIC(t *testing.T) {
	facts := Facts{
		Links: []hostnet.Link{
			{Name: "eth0", PermanentMAC: "fa:16:3e:00:00:0d"}, {Name: "eth1", PermanentMAC: "fa:16:3e:00:00:0e"},
		},
		Profiles: []networkmanager.Profile{newBondPort("a", "", "bond0", func(s networkmanager.Settings) {
			s.Set("802-3-ethernet", "mac-address", []byte{0xfa, 0x16, 0x3e, 0, 0, 0x0e})
			s.Set("connection", "autoconnect-priority", int32(maxAutoconnectPriority))
		})},
	}
	for name, refused := range map[string]bool{"eth0": false, "eth1": true} {
		if _, err := chooseAutoconnectPriority(facts, name, "802-3-ethernet"); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At boot a clone must win over every other profile of its NIC.
func TestMemberPriority(t *testing.T) {
	high := newBondPort("a", "eth0", "bond0",
		func(s networkmanager.Settings) { s.Set("connection", "autoconnect-priority", int32(300)) })
	usual := newBondPort("b", "eth1", "bond0", nil)
	facts := Facts{
		Profiles: []networkmanager.Profile{high, usual},
		Devices:  []networkmanager.Device{newDeviceUsing("eth0", "a"), newDeviceUsing("eth1", "b")},
	}
	bond := networkmanager.Device{Name: "bond0", Type: networkmanager.Bond}
	members, err := planMembers(facts, bond, networkmanager.Profile{})
	if err != nil || len(members) != 2 || members[0].priority != 301 || members[1].priority != defaultAutoconnectPriority {
		t.Fatalf("%v, %v", members, err)
	}
	usual.Settings.Set("connection", "autoconnect-priority", int32(maxAutoconnectPriority))
	if _, err := planMembers(facts, bond, networkmanager.Profile{}); report.CodeOf(err) != report.Refused ||
		!strings.Contains(err.Error(), "would be activated on eth1") {
		t.Errorf("one that cannot be outdone: %v", err)
	}
	if _, err := planMembers(Facts{}, bond, networkmanager.Profile{}); report.CodeOf(err) != report.Refused {
		t.Errorf("a bond without members: %v", err)
	}
	if members, err := planMembers(facts, newDeviceUsing("eth0", "a"), networkmanager.Profile{}); err != nil ||
		members != nil {
		t.Errorf("no bond: %v, %v", members, err)
	}
}
