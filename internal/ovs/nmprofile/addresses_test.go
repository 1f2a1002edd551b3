// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/test/nmtest"
)

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
	got, want := nmtest.SettingTexts(WithAddressesOf(quiet, original)), nmtest.SettingTexts(applied)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
}
