// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

var update = flag.Bool("update", false, "write the golden files again")

// facts returns facts in testdata. Those of bridged are those of dhcp with the uplink in br-ex; the others were
// recorded on real machines.
func facts(t *testing.T, name string) Facts {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f Facts
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The complete migrations for the machines in testdata: every setting of every
// profile, and everything that a rollback needs.
func TestPlanGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.facts.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no recorded facts: %v", err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".facts.json")
		t.Run(name, func(t *testing.T) {
			move, err := Plan(facts(t, name), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(move, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".migration.json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("not the move in %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	eth0 := func(change func(*networkmanager.Device)) func(*Facts) {
		return func(f *Facts) {
			for i := range f.Devices {
				if f.Devices[i].Name == "eth0" {
					change(&f.Devices[i])
				}
			}
		}
	}
	profile := func(change func(*networkmanager.Profile)) func(*Facts) {
		return func(f *Facts) {
			for i := range f.Profiles {
				if f.Profiles[i].ID() == "Wired connection 1" {
					change(&f.Profiles[i])
				}
			}
		}
	}
	link := func(change func(*hostnet.Link)) func(*Facts) {
		return func(f *Facts) {
			for i := range f.Links {
				if f.Links[i].Name == "eth0" {
					change(&f.Links[i])
				}
			}
		}
	}
	method := func(family, method string) func(*Facts) {
		return profile(func(p *networkmanager.Profile) { p.Settings.Set(family, "method", method) })
	}
	tests := map[string]struct {
		change  func(*Facts)
		options Options
		message string
		remedy  string
	}{
		"no Open vSwitch": {
			change:  func(f *Facts) { f.OVS = OpenVSwitch{} },
			message: "Open vSwitch is not installed",
			remedy:  "dnf install openvswitch",
		},
		"no NetworkManager": {
			change:  func(f *Facts) { f.NetworkManager = networkmanager.Info{} },
			message: "NetworkManager is not running",
			remedy:  "systemctl enable --now NetworkManager",
		},
		"no plugin": {
			change:  func(f *Facts) { f.NetworkManager.OVS = false },
			message: "plugin",
			remedy:  "dnf install NetworkManager-ovs && systemctl restart NetworkManager",
		},
		"old NetworkManager": {
			change:  func(f *Facts) { f.NetworkManager.Version = "1.28.1" },
			message: "1.28.1 is too old",
			remedy:  "dnf upgrade",
		},
		"no default route": {
			change:  func(f *Facts) { f.Routes = nil },
			message: "no default route",
			remedy:  "ip route show default",
		},
		"no route over it": {
			change:  func(f *Facts) { f.Routes = []hostnet.Route{{Link: "ctl0", Family: 4, Metric: 100}} },
			options: Options{BridgeInterface: "eth0"},
			message: "the uplink eth0 has no default route",
			remedy:  "+ipv4.routes '0.0.0.0/0 GATEWAY' && nmcli device reapply eth0",
		},
		"never a route over it": {
			change: func(f *Facts) {
				f.BridgeHint = "eth0"
				f.Routes = nil
				profile(func(p *networkmanager.Profile) { p.Settings.Set("ipv4", "never-default", true) })(f)
			},
			message: "the uplink eth0 has no default route",
			remedy:  "ipv4.never-default no && nmcli device reapply eth0",
		},
		"no such interface": {
			options: Options{BridgeInterface: "eth9"},
			message: "the network interface in --bridge-interface does not exist: eth9",
			remedy:  "ip -br link",
		},
		"hint names nothing": {
			change:  func(f *Facts) { f.BridgeHint = "eth8" },
			message: "/etc/ovnk/default_bridge does not exist: eth8",
			remedy:  "ip -br link",
		},
		"unmanaged": {
			options: Options{BridgeInterface: "ctl0"},
			message: "does not manage the uplink ctl0",
			remedy:  "nmcli device set ctl0 managed yes",
		},
		"in a bridge": {
			change:  link(func(l *hostnet.Link) { l.Master = 7 }),
			message: "a port of another interface",
			remedy:  "ip -d link",
		},
		"no profile": {
			change:  eth0(func(d *networkmanager.Device) { d.Active = networkmanager.Active{} }),
			message: "no active NetworkManager profile",
			remedy:  "'address1=192.0.2.177/24'",
		},
		"configured elsewhere": {
			change:  profile(func(p *networkmanager.Profile) { p.External = true }),
			message: "only monitored by NetworkManager",
			remedy:  "'address1=192.0.2.177/24'",
		},
		"802.1X": {
			change:  profile(func(p *networkmanager.Profile) { p.Settings.Set("802-1x", "identity", "x") }),
			message: "802.1X",
			remedy:  "nmcli connection show",
		},
		"shared": {
			change:  method("ipv4", "shared"),
			message: "shares its connection",
			remedy:  "nmcli connection show uuid 45713ba7",
		},
		"left to others": {
			change: method("ipv4", "ignore"), message: "does not manage",
			remedy: "ipv4.method manual ipv4.addresses 192.0.2.177/24",
		},
		"address of a script, IPv4 disabled": { // NetworkManager refuses to add an address to the profile
			change: method("ipv4", "disabled"), message: `does not manage (method "disabled")`,
			remedy: "ipv4.method manual ipv4.addresses 192.0.2.177/24",
		},
		"no address": {
			change: func(f *Facts) {
				link(func(l *hostnet.Link) { l.Addresses = nil })(f)
				eth0(func(d *networkmanager.Device) { d.IPv4 = networkmanager.IP{} })(f)
			},
			message: "has no address", remedy: "ip -br address",
		},
		"address of another program": {
			change:  link(func(l *hostnet.Link) { l.Addresses = append(l.Addresses, netip.MustParsePrefix("2001:db8::7/128")) }),
			message: "2001:db8::7/128", remedy: "+ipv6.addresses 2001:db8::7/128",
		},
		"hint file is empty": {
			change:  func(f *Facts) { f.BridgeHintEmpty = true },
			message: "/etc/ovnk/default_bridge is empty",
			remedy:  "rm /etc/ovnk/default_bridge",
		},
		"another route is the best": {
			change:  func(f *Facts) { f.Routes = append(f.Routes, hostnet.Route{Link: "ctl0", Family: 4, Metric: 0}) },
			options: Options{BridgeInterface: "eth0"},
			message: "over ctl0 has the metric 0", remedy: "ip route show default dev ctl0",
		},
		"highest priority": {
			change: profile(
				func(p *networkmanager.Profile) { p.Settings.Set("connection", "autoconnect-priority", int32(999)) },
			),
			message: "highest possible autoconnect priority", remedy: "nmcli connection modify",
		},
		"foreign bridge": {
			change:  func(f *Facts) { f.OVS.Bridges = []openvswitch.Bridge{{Name: "br-ex"}} },
			message: "a foreign Open vSwitch bridge br-ex exists without a default route", remedy: "ovs-vsctl show",
		},
		"foreign profile": {
			change:  profile(func(p *networkmanager.Profile) { p.Settings.Set("connection", "id", "ovs-if-phys0") }),
			message: "a foreign NetworkManager profile has the name ovs-if-phys0", remedy: "connection.id ovs-if-phys0-foreign",
		},
		"odd name": {
			change: func(f *Facts) {
				link(func(l *hostnet.Link) { l.Name = "e$0" })(f)
				eth0(func(d *networkmanager.Device) { d.Name = "e$0" })(f)
				f.Routes[0].Link = "e$0"
			},
			message: "rename the interface", remedy: "ip link set",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "dhcp")
			if test.change != nil {
				test.change(&f)
			}
			_, err := Plan(f, test.options)
			if err == nil {
				t.Fatal("it was planned")
			}
			if report.CodeOf(err) != report.Refused {
				t.Errorf("exit code %d, want %d", report.CodeOf(err), report.Refused)
			}
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("says %q, want it to say %q", err, test.message)
			}
			if !strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("remedy %q, want %q", report.RemedyOf(err), test.remedy)
			}
		})
	}
}
