// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestWithCurrentName(t *testing.T) {
	tests := map[string]struct {
		was, profile string // names of the NIC: at the migration, and in its profile on disk ("-": no profile)
		want, bound  string // names: in the backup, and in the settings to restore
		refused      bool
	}{
		"as it was":                    {was: "eth0", profile: "eth0", want: "eth0", bound: "eth0"},
		"profile made up":              {was: "old0", profile: "-", want: "eth0", bound: "eth0"},
		"profile for any name":         {was: "old0", profile: "", want: "eth0", bound: ""},
		"profile for the old name":     {was: "old0", profile: "old0", refused: true},
		"profile repaired by a person": {was: "old0", profile: "eth0", want: "eth0", bound: "eth0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "bridged")
			settings := networkmanager.Settings{}
			settings.Set("connection", "uuid", "its-own")
			settings.Set("connection", "interface-name", test.was)
			o := ovs.Backup{Uplink: test.was, UUID: "its-own", ID: "mine", Settings: settings}
			if test.profile != "-" {
				own := settings.Clone()
				if own.Drop("connection", "interface-name"); test.profile != "" {
					own.Set("connection", "interface-name", test.profile)
				}
				o.Settings = own.Clone()
				f.Profiles = append(f.Profiles, networkmanager.Profile{Settings: own})
			}
			got, err := withCurrentName(o, f)
			if (err != nil) != test.refused {
				t.Fatalf("%v, refused: %t", err, test.refused)
			}
			if test.refused {
				if !strings.Contains(string(report.RemedyOf(err)), "connection.interface-name eth0") {
					t.Errorf("the remedy is %q", report.RemedyOf(err))
				}
				return
			}
			if bound := got.Settings.Text("connection", "interface-name"); got.Uplink != test.want || bound != test.bound {
				t.Errorf("uplink %s with a profile for %q; want %s, %q", got.Uplink, bound, test.want, test.bound)
			}
			if settings.Text("connection", "interface-name") != test.was {
				t.Error("the origin itself was changed")
			}
		})
	}
}

// The rest of a br-ex that the administrator has reverted is still restored,
// with a Backup for that.
func TestStateOf(t *testing.T) {
	get := func(f ovs.Facts) (bool, bridgeData) {
		t.Helper()
		planned, planErr := ovs.Plan(f, ovs.Options{})
		state, err := stateOf(f, planned, planErr)
		if err != nil {
			t.Fatal(err)
		}
		data, err := decodeData(state)
		if err != nil {
			t.Fatal(err)
		}
		return state.Present, data
	}
	plain := facts(t, "dhcp")
	present, before := get(plain)
	if present || before.Unfinished || before.Backup == nil {
		t.Fatalf("before: %t, %+v", present, before)
	}
	move, err := ovs.Plan(plain, ovs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	left := plain
	left.Profiles = append(slices.Clone(plain.Profiles), networkmanager.Profile{Settings: move.Profiles.BridgeIP})
	want := bridgeData{Unfinished: true, Backup: before.Backup}
	if _, got := get(left); !reflect.DeepEqual(got, want) {
		t.Errorf("with one of our profiles: %+v, want %+v", got, want)
	}
	offline := left
	offline.Routes = nil // as when its NIC has another name
	if _, got := get(offline); !got.Unfinished || got.Backup != nil {
		t.Errorf("with one of our profiles and no network: %+v", got)
	}
	offline.Profiles = plain.Profiles
	if _, got := get(offline); got.Unfinished {
		t.Errorf("without a network: %+v", got)
	}
	if present, got := get(facts(t, "bridged")); !present || got.Unfinished {
		t.Errorf("with br-ex: %t, %+v", present, got)
	}
}

// An interrupted rollback leaves a state that no plan describes. The next leave
// reverts it, and does not treat it as a foreign change.
func TestUnfinishedStateIsPartiallyRestored(t *testing.T) {
	for _, want := range []bool{true, false} {
		now, err := bridgeData{Unfinished: want}.state(false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Driver{}).IsPartiallyRestored(ledger.Change{}, ledger.State{}, now)
		if err != nil || got != want {
			t.Errorf("%s: %t, %v; want %t", now.Data, got, err, want)
		}
	}
}
