package ovs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestRenamed(t *testing.T) {
	tests := map[string]struct {
		nic, port, said string // port "": the NIC's name
		foreign         bool
		want            renaming
		stale           bool
	}{
		"as it was":          {nic: "eth0", said: "eth0", want: renaming{"eth0", "eth0"}},
		"renamed":            {nic: "ens3", port: "eth0", said: "eth0", want: renaming{"ens3", "eth0"}, stale: true},
		"port mended":        {nic: "ens3", said: "eth0", want: renaming{"ens3", "ens3"}, stale: true},
		"nothing is said":    {nic: "eth0", said: "", want: renaming{"eth0", "eth0"}, stale: true},
		"br-ex of configure": {nic: "ens3", port: "eth0", said: "eth0", foreign: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := bridged(t)
			bridge := &f.OVS.Bridges[0]
			bridge.ExternalIDs = map[string]string{"bridge-uplink": test.said}
			if !test.foreign {
				bridge.ExternalIDs["NM.connection.uuid"] = newUUID(f.MachineID, bridgeProfile)
			}
			nic := &bridge.Interfaces[len(bridge.Interfaces)-1]
			nic.Name, nic.Port = test.nic, test.port
			got, stale := renamed(f)
			if stale != test.stale || got != test.want {
				t.Errorf("%+v, %t; want %+v, %t", got, stale, test.want, test.stale)
			}
		})
	}
}

func TestRenamedProfiles(t *testing.T) {
	f := facts(t, "dhcp")
	move, err := Plan(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range move.Profiles.list() {
		f.Profiles = append(f.Profiles, networkmanager.Profile{Settings: s})
	}
	got := map[string]string{}
	for _, profile := range (renaming{now: "ens3", port: "eth0"}).profiles(f) {
		all := texts(profile.Settings)
		got[profile.ID()] = all["connection.interface-name"] + " " + all["ovs-external-ids.data"]
	}
	want := map[string]string{bridgeProfile: `"br-ex" {"bridge-uplink": "ens3"}`, nicPortProfile: `"ens3" `, nicProfile: `"ens3" `}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if move.Profiles.NICPort.Text("connection", "interface-name") != "eth0" {
		t.Error("the profile itself was changed")
	}
}
