// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/hostrules"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// outside returns the facts of a host whose eth0 has addresses and routes that NetworkManager has not configured.
func outside(change func(*Facts)) Facts {
	address, prefix := netip.MustParseAddr, netip.MustParsePrefix
	tableRoute := func(destination, gateway string, metric, table int) hostnet.TableRoute {
		r := hostnet.TableRoute{Route: hostnet.Route{Link: "eth0", Metric: metric, Family: 4}, Table: table}
		if destination != "" {
			r.Destination = prefix(destination)
		}
		if gateway != "" {
			r.Gateway = address(gateway)
		}
		if strings.Contains(destination+gateway, ":") {
			r.Family = 6
		}
		return r
	}
	f := Facts{
		MachineID:      "0123456789abcdef0123456789abcdef",
		NetworkManager: networkmanager.Info{Running: true, OVS: true, Version: "1.42.4"},
		OVS:            OpenVSwitch{Installed: true, Running: true},
		Links: []hostnet.Link{{
			Name: "eth0", Index: 2, Kind: "device", MTU: 9000, MAC: "00:16:3e:35:a0:c1", PermanentMAC: "00:16:3e:35:a0:c0",
			Addresses: []netip.Prefix{prefix("192.0.2.50/24"), prefix("198.51.100.5/32"), prefix("2001:db8:1::50/64")},
		}},
		Devices: []networkmanager.Device{{Name: "eth0", Type: networkmanager.Ethernet}},
		Routes:  []hostnet.Route{{Link: "eth0", Gateway: address("192.0.2.1"), Family: 4}},
		TableRoutes: []hostnet.TableRoute{
			tableRoute("", "192.0.2.1", 0, 254), tableRoute("192.0.2.0/24", "", 0, 254),
			tableRoute("10.99.0.0/16", "192.0.2.2", 50, 254), tableRoute("10.98.0.0/16", "", 0, 100),
			tableRoute("2001:db8:1::/64", "", 256, 254), tableRoute("fe80::/64", "", 256, 254),
			tableRoute("::/0", "fe80::1", 1024, 254),
		},
		Resolver: hostnet.Resolver{
			Nameservers: []netip.Addr{address("192.0.2.1"), address("2001:db8:1::53")}, Search: []string{"lab.example", "corp"},
		},
		HostRules: &hostrules.Rules{Uplink: "eth0", Filter: &packetfilter.Ruleset{}, TableRules: []hostrules.PolicyRule{
			{Family: "-4", Priority: "0", Text: "from all lookup 255"},
			{Family: "-4", Priority: "7", Text: "from all lookup 254 suppress_prefixlength 0"},
			{Family: "-4", Priority: "90", Text: "from all to 10.98.0.0/16 fwmark 0x1 lookup 100 proto static"},
			{Family: "-4", Priority: "91", Text: "not from 198.51.100.5 lookup 100"},
			{Family: "-4", Priority: "91", Text: "from 198.51.100.5 ipproto tcp lookup 100"},
			{Family: "-4", Priority: "92", Text: "from 203.0.113.5 lookup 101"},
			{Family: "-4", Priority: "100", Text: "from 198.51.100.5 lookup 100"},
			{Family: "-6", Priority: "100", Text: "from 2001:db8:1::50 lookup 100"},
		}},
	}
	f.TableRoutes[2].Source = address("198.51.100.5")
	f.TableRoutes[3].IsOnLink = true
	if change != nil {
		change(&f)
	}
	return f
}

// Executes the commands that write files, and compares the files. They contain all that the host needs to be reached.
func TestRemedyKeepsTheAddresses(t *testing.T) {
	const profile = `[connection]
id=static-eth0
uuid=UUID
type=ethernet
interface-name=eth0
autoconnect-priority=100
[ethernet]
mtu=9000
cloned-mac-address=00:16:3e:35:a0:c1
[ipv4]
method=manual
address1=192.0.2.50/24
address2=198.51.100.5/32
route1=0.0.0.0/0,192.0.2.1,0
route2=10.99.0.0/16,192.0.2.2,50
route2_options=src=198.51.100.5
route3=10.98.0.0/16,0.0.0.0,0
route3_options=table=100,onlink=true
routing-rule1=priority 90 from 0.0.0.0/0 to 10.98.0.0/16 fwmark 0x1 table 100
routing-rule2=priority 100 from 198.51.100.5 table 100
dns=192.0.2.1;
dns-search=lab.example;corp;
[ipv6]
method=manual
address1=2001:db8:1::50/64
route1=::/0,fe80::1,1024
dns=2001:db8:1::53;
dns-search=lab.example;corp;
`
	const exception = `[keyfile]
unmanaged-devices+=interface-name:eth0;except:interface-name:eth0
[device-static-eth0]
match-device=interface-name:eth0
managed=1
`
	external := networkmanager.Profile{External: true, Settings: networkmanager.Settings{}}
	external.Settings.Set("connection", "uuid", "u")
	for name, test := range map[string]struct {
		change    func(*Facts)
		exception string
		last      string // the end of the commands
	}{
		"not managed": {
			nil, exception, "grep -F 192.0.2.50 && nmcli general reload conf && nmcli device set eth0 managed yes && " +
				"nmcli connection up uuid UUID ifname eth0",
		},
		"disconnected": {
			func(f *Facts) { f.Devices[0].Managed = true }, "",
			"grep -F 192.0.2.50 && nmcli connection up uuid UUID ifname eth0",
		},
		"external": {
			func(f *Facts) {
				f.Devices[0].Managed = true
				f.Devices[0].Active = networkmanager.Active{UUID: "u", State: networkmanager.Activated}
				f.Profiles = []networkmanager.Profile{external}
			}, "", "grep -F 192.0.2.50 && nmcli connection up uuid UUID ifname eth0",
		},
		"no NetworkManager": {
			func(f *Facts) { f.NetworkManager.Running = false }, "",
			"grep -F 192.0.2.50 && nmcli connection up uuid UUID ifname eth0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := outside(test.change)
			_, err := Plan(f, Options{})
			commands := report.RemedyOf(err).Command()
			uuid := ProfileUUID(f.MachineID, "keyfile static-eth0")
			if last := strings.ReplaceAll(test.last, "UUID", uuid); !strings.HasSuffix(commands, last) {
				t.Errorf("%v: the remedy does not end with %q:\n%s", err, last, commands)
			}
			root := t.TempDir()
			for _, directory := range []string{"system-connections", "conf.d"} {
				if err := os.MkdirAll(filepath.Join(root, "etc/NetworkManager", directory), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for line := range strings.Lines(commands) {
				if !strings.HasPrefix(line, "printf") {
					continue
				}
				line = strings.Replace(line, "/etc/", root+"/etc/", 1)
				if output, err := exec.CommandContext(t.Context(), "bash", "-c", line).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v: %s", line, err, output)
				}
			}
			for file, want := range map[string]string{
				"system-connections/static-eth0.nmconnection": strings.ReplaceAll(profile, "UUID", uuid),
				"conf.d/zz-static-eth0.conf":                  test.exception,
			} {
				content, _ := os.ReadFile(filepath.Join(root, "etc/NetworkManager", file))
				if diff := cmp.Diff(want, string(content)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
		})
	}
}

// No remedy for an uplink with addresses connects it, and none activates a profile that lacks one of the addresses.
func TestNoRemedyCutsTheHostOff(t *testing.T) {
	profile := func(f *Facts, method4, method6 string) networkmanager.Settings {
		s := networkmanager.Settings{}
		s.Set("connection", "uuid", "u")
		s.Set("connection", "type", "802-3-ethernet")
		s.Set("ipv4", "method", method4)
		s.Set("ipv6", "method", method6)
		f.Devices[0].Managed = true
		f.Devices[0].Active = networkmanager.Active{UUID: "u", State: networkmanager.Activated}
		f.Profiles = []networkmanager.Profile{{Settings: s}}
		return s
	}
	for name, change := range map[string]func(*Facts){
		"not managed":  nil,
		"disconnected": func(f *Facts) { f.Devices[0].Managed = true },
		"external":     func(f *Facts) { profile(f, "manual", "manual"); f.Profiles[0].External = true },
		"bond":         func(f *Facts) { f.Links[0].Kind, f.Devices[0].Type = "bond", networkmanager.Bond },
		"VLAN":         func(f *Facts) { f.Links[0].Kind, f.Devices[0].Type = "vlan", networkmanager.VLAN },
		"team":         func(f *Facts) { f.Links[0].Kind, f.Devices[0].Type = "team", networkmanager.Team },
		"activating": func(f *Facts) {
			profile(f, "auto", "auto")
			f.Devices[0].Active.State = networkmanager.Activating
		},
		"ignore":           func(f *Facts) { profile(f, "manual", "ignore") },
		"ignored IPv4":     func(f *Facts) { profile(f, "ignore", "manual") },
		"no default route": func(f *Facts) { profile(f, "manual", "manual"); f.Routes, f.BridgeHint = nil, "eth0" },
		"never": func(f *Facts) {
			profile(f, "auto", "auto").Set("ipv4", "never-default", true)
			f.BridgeHint, f.Routes = "eth0", nil
		},
		"foreign address":   func(f *Facts) { profile(f, "manual", "manual") },
		"foreign profile":   func(f *Facts) { profile(f, "manual", "manual").Set("connection", "id", NICProfile) },
		"foreign bridge":    func(f *Facts) { profile(f, "manual", "manual").Set("connection", "type", "ovs-bridge") },
		"no NetworkManager": func(f *Facts) { f.NetworkManager.Running = false },
		"older facts":       func(f *Facts) { f.TableRoutes = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := outside(change)
			if name == "foreign bridge" {
				f.Profiles[0].Settings.Set("connection", "interface-name", BridgeName)
			}
			_, err := Plan(f, Options{})
			if report.CodeOf(err) != report.Refused {
				t.Fatalf("not refused: %v", err)
			}
			commands := report.RemedyOf(err).Command()
			for _, harmful := range []string{
				"device connect", "device disconnect", "connection down", "connection add", "connection delete", "link set",
				"address delete", "address flush",
			} {
				if strings.Contains(commands, harmful) {
					t.Errorf("%v: %s", err, commands)
				}
			}
			takesOver := func(command string) bool { return strings.Contains(commands, command) }
			if !slices.ContainsFunc([]string{"connection up", "managed yes", "now NetworkManager"}, takesOver) {
				return
			}
			for i, address := range f.Links[0].Addresses {
				if !strings.Contains(commands, fmt.Sprintf("=%s'", address)) {
					t.Errorf("%v: address %d, %s, is lost: %s", err, i, address, commands)
				}
			}
			if !strings.Contains(commands, "=0.0.0.0/0,192.0.2.1,0'") {
				t.Errorf("%v: the default route is lost: %s", err, commands)
			}
		})
	}
}
