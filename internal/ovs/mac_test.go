// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/test/nmtest"
)

func TestUniquePermanentMAC(t *testing.T) {
	const mac = "52:54:00:a1:26:b0"
	nic := func(name, mac string) hostnet.Link { return hostnet.Link{Name: name, PermanentMAC: mac} }
	tests := map[string]struct {
		links  []hostnet.Link
		kind   string
		unique bool
	}{
		"alone": {[]hostnet.Link{nic("eth0", mac)}, "802-3-ethernet", true},
		"beside others": {
			[]hostnet.Link{nic("eth0", mac), nic("eth1", "52:54:00:a1:26:b1"), nic("br0", "")},
			"802-3-ethernet",
			true,
		},
		"shared": {
			[]hostnet.Link{nic("eth0", mac), nic("enP1", "52:54:00:A1:26:B0")},
			"802-3-ethernet",
			false,
		},
		"none": {[]hostnet.Link{nic("eth0", ""), nic("eth1", "")}, "802-3-ethernet", false},
		"of InfiniBand": {
			[]hostnet.Link{nic("eth0", "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:31:78:f2")},
			"802-3-ethernet",
			false,
		},
		"of something on a NIC": {[]hostnet.Link{nic("eth0", mac)}, "vlan", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			original := networkmanager.Settings{}
			original.Set("connection", "type", test.kind)
			if got := uniquePermanentMAC(Facts{Links: test.links}, test.links[0], original); (got != nil) != test.unique {
				t.Errorf("%v, want one: %t", got, test.unique)
			}
		})
	}
}

// The profile of the NIC contains its name, which other tools read, and must
// not be activated on another NIC that got this name.
func TestNICProfileMatchesNameAndMAC(t *testing.T) {
	f := facts(t, "dhcp")
	for i := range f.Links {
		if f.Links[i].Name == "eth0" {
			f.Links[i].PermanentMAC = "52:54:00:a1:26:b0"
		}
	}
	move, err := Plan(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	nic := nmtest.SettingTexts(move.Profiles.NIC)
	if nic["connection.interface-name"] != `"eth0"` || nic["802-3-ethernet.mac-address"] == "" {
		t.Errorf("name %s, MAC %q", nic["connection.interface-name"], nic["802-3-ethernet.mac-address"])
	}
}

// A member is identified only by its MAC, because no tool reads its name.
func TestMemberProfileMatchesMAC(t *testing.T) {
	f := facts(t, "bond")
	for i := range f.Links {
		if f.Links[i].Name == "nic0" {
			f.Links[i].PermanentMAC = "52:54:00:aa:bb:00"
		}
	}
	move, err := Plan(f, Options{})
	if err != nil || len(move.Profiles.Members) != 2 {
		t.Fatalf("%d members, %v", len(move.Profiles.Members), err)
	}
	known, unknown := nmtest.SettingTexts(move.Profiles.Members[0]), nmtest.SettingTexts(move.Profiles.Members[1])
	if known["connection.interface-name"] != "" || known["802-3-ethernet.mac-address"] == "" {
		t.Errorf("with a NIC's MAC: %v", known)
	}
	if unknown["connection.interface-name"] != `"nic1"` || unknown["802-3-ethernet.mac-address"] != "" {
		t.Errorf("without: %v", unknown)
	}
}

func TestHasOwnMAC(t *testing.T) {
	steady, borrowing := hostnet.Link{Name: "bond0", Index: 5}, hostnet.Link{Name: "bond0", Index: 5, InheritsMAC: true}
	vlan := hostnet.Link{Name: "bond0.100", Index: 6, Parent: 5}
	tests := map[string]struct {
		links []hostnet.Link
		link  hostnet.Link
		want  bool
	}{
		"a NIC": {
			[]hostnet.Link{{Name: "eth0", Index: 2}},
			hostnet.Link{Name: "eth0", Index: 2},
			true,
		},
		"a bond":                           {[]hostnet.Link{steady}, steady, true},
		"a bond with fail_over_mac":        {[]hostnet.Link{borrowing}, borrowing, false},
		"a VLAN on a bond":                 {[]hostnet.Link{steady, vlan}, vlan, true},
		"a VLAN on one with fail_over_mac": {[]hostnet.Link{borrowing, vlan}, vlan, false},
		"a VLAN on that VLAN":              {[]hostnet.Link{borrowing, vlan}, hostnet.Link{Index: 7, Parent: 6}, false},
		"one that is on itself":            {[]hostnet.Link{{Index: 6, Parent: 6}}, hostnet.Link{Index: 6, Parent: 6}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HasOwnMAC(Facts{Links: test.links}, test.link); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

func TestPinsMAC(t *testing.T) {
	for name, test := range map[string]struct {
		mac      string
		borrowed bool
		want     bool
	}{
		"a NIC's":                      {"00:1b:21:12:34:56", false, true},
		"borrowed":                     {"00:1b:21:12:34:56", true, false},
		"borrowed by a machine of KVM": {"52:54:00:12:34:56", true, true},
		"borrowed and unreadable":      {"", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			link := hostnet.Link{Name: "bond0", Index: 5, MAC: test.mac, InheritsMAC: test.borrowed}
			if got := pinsMAC(Facts{Links: []hostnet.Link{link}}, link); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}
