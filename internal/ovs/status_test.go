// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// withProfile returns the facts of a host whose br-ex NetworkManager manages.
func withProfile(t *testing.T) Facts {
	f := facts(t, "bridged")
	f.Links[len(f.Links)-1].MTU = 1400
	profile := networkmanager.Profile{
		Settings: networkmanager.Settings{},
		File:     "/etc/NetworkManager/system-connections/ovs-if-br-ex.nmconnection",
	}
	profile.Settings.Set("connection", "id", "ovs-if-br-ex")
	profile.Settings.Set("connection", "uuid", "1-2-3")
	f.Profiles = append(f.Profiles, profile)
	f.Devices = append(f.Devices, networkmanager.Device{
		Name:    "br-ex",
		Type:    networkmanager.OVSInterface,
		Managed: true,
		Active:  networkmanager.Active{UUID: "1-2-3", State: networkmanager.Activated},
	})
	return f
}

func TestStatus(t *testing.T) {
	carries := withProfile(t)
	dormant := withProfile(t)
	dormant.Devices[len(dormant.Devices)-1].Active.State = networkmanager.Activating
	dormant.Profiles[len(dormant.Profiles)-1].File = ""
	empty := facts(t, "dhcp")
	empty.OVS.Bridges = []openvswitch.Bridge{{Name: "br-ex", Interfaces: []openvswitch.Interface{{Name: "eth0"}}}}
	for name, test := range map[string]struct {
		facts   Facts
		message string
		details []string
	}{
		"carries the host": {carries, "eth0 is in br-ex with 192.0.2.177/24", []string{
			"ports br-ex (internal), patch-br-ex-to-br-int (patch), eth0 (system)", "MTU 1400, node IP 192.0.2.177",
			"NetworkManager profile ovs-if-br-ex is activated, in " +
				"/etc/NetworkManager/system-connections/ovs-if-br-ex.nmconnection",
		}},
		"comes up": {
			dormant,
			"br-ex exists but does not carry the host's traffic: it has no active connection",
			[]string{
				"ports br-ex (internal), patch-br-ex-to-br-int (patch), eth0 (system)",
				"NetworkManager profile ovs-if-br-ex is activating, not saved to disk: it is lost at a reboot",
			},
		},
		"by hand, without use": {
			empty,
			"br-ex exists but does not carry the host's traffic: it has no address",
			[]string{"ports eth0 (system)"},
		},
		"not there": {facts(t, "dhcp"), "br-ex does not exist", nil},
	} {
		status := StatusOf(test.facts)
		if status.String() != test.message {
			t.Errorf("%s: %q", name, status)
		}
		if diff := cmp.Diff(test.details, status.Details()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStatusAsJSON(t *testing.T) {
	status := StatusOf(withProfile(t))
	outage := &hostnet.Outage{LongestSeconds: 0.041, Sent: 500, Received: 497}
	status.Migration = &Record{
		Uplink: status.Uplink, MigratedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Outage: outage,
	}
	got, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"present":true,"exists":true,"uplink":"eth0","addresses":["192.0.2.177/24"],"mtu":1400,` +
		`"ports":[{"name":"br-ex","type":"internal"},{"name":"patch-br-ex-to-br-int","type":"patch"},` +
		`{"name":"eth0","type":"system"}],"nodeIPs":["192.0.2.177"],` +
		`"profile":{"name":"ovs-if-br-ex","uuid":"1-2-3","state":"activated",` +
		`"file":"/etc/NetworkManager/system-connections/ovs-if-br-ex.nmconnection"},` +
		`"migration":{"uplink":"eth0","migratedAt":"2026-01-02T03:04:05Z",` +
		`"outage":{"longestSeconds":0.041,"sent":500,"received":497}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecord(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		outage *hostnet.Outage
		output string
	}{
		"measured": {
			&hostnet.Outage{LongestSeconds: 0.041, Sent: 500, Received: 497},
			"; network interruption 0.04 s (497 of 500 echo replies received)",
		},
		"not measured": {
			nil,
			"; the network interruption could not be measured (the gateway does not respond to echo requests)",
		},
	} {
		record := Record{Uplink: "eth0", MigratedAt: now, Outage: test.outage}
		content, err := record.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRecord(content)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(record, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if want := "eth0 was attached to br-ex at " + now.Local().Format(time.RFC3339) + test.output; back.String() != want {
			t.Errorf("%s: %q, want %q", name, back, want)
		}
	}
	if _, err := DecodeRecord([]byte("{")); err == nil || !strings.Contains(err.Error(), "record of the migration") {
		t.Errorf("a torn record: %v", err)
	}
}
