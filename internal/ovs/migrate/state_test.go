package migrate

import (
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
		"as it was":                  {was: "eth0", profile: "eth0", want: "eth0", bound: "eth0"},
		"profile made up":            {was: "old0", profile: "-", want: "eth0", bound: "eth0"},
		"profile for any name":       {was: "old0", profile: "", want: "eth0", bound: ""},
		"profile for the old name":   {was: "old0", profile: "old0", refused: true},
		"profile mended by a person": {was: "old0", profile: "eth0", want: "eth0", bound: "eth0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := bridged(t)
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
				if !strings.Contains(report.RemedyOf(err), "connection.interface-name eth0") {
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
	plain := facts(t, "dhcp")
	before, err := stateOf(plain, ovs.Options{})
	if err != nil || before.Type != "" || before.Present || before.Value == "" {
		t.Fatalf("before: %+v, %v", before, err)
	}
	move, err := ovs.Plan(plain, ovs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	left := plain
	left.Profiles = append(slices.Clone(plain.Profiles), networkmanager.Profile{Settings: move.Profiles.BridgeIP})
	state, err := stateOf(left, ovs.Options{})
	if err != nil || state.Type != stateUnfinished || state.Value != before.Value {
		t.Errorf("with one of our profiles: %+v, %v", state, err)
	}
	unreachable := left
	unreachable.Routes = nil // as when its NIC has another name
	state, err = stateOf(unreachable, ovs.Options{})
	if err != nil || state.Type != stateUnfinished || state.Value != "" {
		t.Errorf("with one of our profiles and no network: %+v, %v", state, err)
	}
	unreachable.Profiles = plain.Profiles
	if state, err = stateOf(unreachable, ovs.Options{}); err != nil || state.Type != "" {
		t.Errorf("without a network: %+v, %v", state, err)
	}
	state, err = stateOf(bridged(t), ovs.Options{})
	if err != nil || !state.Present || state.Type != "" {
		t.Errorf("with br-ex: %+v, %v", state, err)
	}
}

// An interrupted rollback leaves a state that no plan describes. The next leave
// reverts it, and does not treat it as a foreign change.
func TestUnfinishedStateIsPartiallyRestored(t *testing.T) {
	for state, want := range map[string]bool{stateUnfinished: true, "": false} {
		got, err := (&Driver{}).IsPartiallyRestored(ledger.Change{}, ledger.State{}, ledger.State{Type: state})
		if err != nil || got != want {
			t.Errorf("%q: %t, %v; want %t", state, got, err, want)
		}
	}
}
