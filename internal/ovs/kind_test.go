package ovs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestHasOwnMAC(t *testing.T) {
	steady, borrowing := hostnet.Link{Name: "bond0", Index: 5}, hostnet.Link{Name: "bond0", Index: 5, InheritsMAC: true}
	vlan := hostnet.Link{Name: "bond0.100", Index: 6, Parent: 5}
	tests := map[string]struct {
		links []hostnet.Link
		link  hostnet.Link
		want  bool
	}{
		"a NIC":                            {[]hostnet.Link{{Name: "eth0", Index: 2}}, hostnet.Link{Name: "eth0", Index: 2}, true},
		"a bond":                           {[]hostnet.Link{steady}, steady, true},
		"a bond with fail_over_mac":        {[]hostnet.Link{borrowing}, borrowing, false},
		"a VLAN on a bond":                 {[]hostnet.Link{steady, vlan}, vlan, true},
		"a VLAN on one with fail_over_mac": {[]hostnet.Link{borrowing, vlan}, vlan, false},
		"a VLAN on that VLAN":              {[]hostnet.Link{borrowing, vlan}, hostnet.Link{Index: 7, Parent: 6}, false},
		"one that is said to be on itself": {[]hostnet.Link{{Index: 6, Parent: 6}}, hostnet.Link{Index: 6, Parent: 6}, true},
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

// A bond whose addresses are removed and restored must keep all other active
// settings: NetworkManager reapplies nothing else.
func TestRemovingAddressesKeepsOtherSettings(t *testing.T) {
	original := networkmanager.Settings{}
	original.Set("connection", "id", "bond0")
	original.Set("bond", "options", map[string]string{"mode": "802.3ad"})
	original.Set("ipv4", "method", "auto")
	original.Set("ipv4", "dns-search", []string{"example.com"})
	original.Set("ipv6", "method", "ignore")
	applied := original.Clone()
	applied.Set("connection", "id", "named otherwise since") // the profile has been changed since
	applied.Set("bond", "options", map[string]string{"mode": "active-backup"})

	quiet := WithoutAddresses(applied)
	for _, section := range []string{"ipv4", "ipv6"} {
		if quiet.Text(section, "method") != "disabled" || len(quiet[section]) != 1 {
			t.Errorf("%s is %v", section, quiet[section])
		}
	}
	if LostAddresses(applied, original) || !LostAddresses(quiet, original) {
		t.Errorf("silenced: before %t, after %t", LostAddresses(applied, original), LostAddresses(quiet, original))
	}
	got, want := settingTexts(WithAddressesOf(quiet, original)), settingTexts(applied)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
}

func settingTexts(s networkmanager.Settings) map[string]string {
	found := map[string]string{}
	for section, properties := range s {
		for name, v := range properties {
			found[section+"."+name] = v.String()
		}
	}
	return found
}
