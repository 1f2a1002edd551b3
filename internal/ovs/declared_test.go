// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// declare returns a file that declares br-ex.
func declare(port, more, address string) *Declared {
	return &Declared{File: "/etc/nmstate/openshift/cluster.yml", Content: `interfaces:
- {name: br-ex, type: ovs-bridge, bridge: {options: {mcast-snooping-enable: true}, port: [{name: ` + port + `}]}}
- {name: br-ex, type: ovs-interface, ` + address + "}\n" + more}
}

const dhcp = "ipv4: {enabled: true, dhcp: true}"

func TestDeclaredBridge(t *testing.T) {
	const (
		static = "ipv4: {enabled: true, address: [{ip: 192.0.2.177, prefix-length: 24}]}"
		bond   = "- {name: bond0, type: bond, " +
			"link-aggregation: {mode: 802.3ad, port: [nic1, nic0], options: {miimon: 100}}}\n"
	)
	defaultRoute := func(gateway string) string {
		return "routes: {config: [{destination: 0.0.0.0/0, next-hop-address: " + gateway + ", next-hop-interface: br-ex}]}\n"
	}
	for name, test := range map[string]struct {
		facts    string
		declared *Declared
		want     string // in the refusal
	}{
		"DHCP":            {"dhcp", declare("eth0", "", dhcp), ""},
		"a described NIC": {"dhcp", declare("eth0", "- {name: eth0, type: ethernet, state: up}\n", dhcp), ""},
		"its route":       {"dhcp", declare("eth0", defaultRoute("192.0.2.1"), dhcp), ""},
		"its resolver":    {"dhcp", declare("eth0", "dns-resolver: {config: {server: [192.0.2.1]}}\n", dhcp), ""},
		"its MTU":         {"dhcp", declare("eth0", "", "mtu: 1500, "+dhcp), ""},
		"a bond":          {"bond", declare("bond0", bond, dhcp), ""},

		"another port":   {"dhcp", declare("ctl0", "", dhcp), "declares br-ex with the port ctl0, but the uplink is eth0"},
		"an absent port": {"dhcp", declare("eno9", "", dhcp), "declares br-ex with the port eno9, but the uplink is eth0"},
		"another type":   {"dhcp", declare("eth0", "- {name: eth0, type: bond}\n", dhcp), "eth0 has the type bond"},
		"another MTU":    {"dhcp", declare("eth0", "", "mtu: 9000, "+dhcp), "the MTU of br-ex is 9000"},
		"static":         {"dhcp", declare("eth0", "", static), `static IPv4 addresses, but eth0 has the method "auto"`},
		"nothing": {
			"dhcp", declare("eth0", "", "mtu: 1500"), "br-ex has the IPv4 addresses none, but eth0 has 192.0.2.177/24",
		},
		"another route": {
			"dhcp", declare("eth0", defaultRoute("192.0.2.254"), dhcp), "route to 0.0.0.0/0 by 192.0.2.254",
		},
		"another server": {
			"dhcp", declare("eth0", "dns-resolver: {config: {server: [192.0.2.53]}}\n", dhcp), "name server 192.0.2.53",
		},
		"another domain": {
			"dhcp", declare("eth0", "dns-resolver: {config: {search: [example.com]}}\n", dhcp), "search domain example.com",
		},
		"other members": {
			"bond", declare("bond0", strings.Replace(bond, "nic1, ", "", 1), dhcp), "bond bond0 has the ports nic0",
		},
		"another mode": {
			"bond", declare("bond0", strings.Replace(bond, "802.3ad", "active-backup", 1), dhcp), "mode active-backup",
		},
		"another option":  {"bond", declare("bond0", strings.Replace(bond, "100", "50", 1), dhcp), "miimon 50"},
		"a VLAN":          {"dhcp", declare("eth0", "- {name: eth0, type: vlan}\n", dhcp), "eth0 has the type vlan"},
		"an unknown key":  {"dhcp", declare("eth0", "ovs-db: {}\n", dhcp), `unknown field "ovs-db"`},
		"a second bridge": {"dhcp", declare("eth0", "- {name: br-ex1, type: ovs-bridge}\n", dhcp), "interface br-ex1"},
	} {
		f := facts(t, test.facts)
		f.TableRoutes = []hostnet.TableRoute{{Route: f.Routes[0]}}
		migration, err := Plan(f, Options{Declared: test.declared})
		checked := CheckDeclared(f, Options{Declared: test.declared})
		if test.want == "" {
			if err != nil || checked != nil {
				t.Errorf("%s: %v, %v", name, err, checked)
			} else if isSet, _ := migration.Profiles.Bridge["ovs-bridge"]["mcast-snooping-enable"].Value().(bool); !isSet {
				t.Errorf("%s: profile %v", name, migration.Profiles.Bridge)
			}
			continue
		}
		for _, err := range []error{err, checked} {
			if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), test.declared.File) || report.RemedyOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestDeclaredVLAN(t *testing.T) {
	f := facts(t, "dhcp")
	for i := range f.Links {
		if f.Links[i].Name == "eth0" {
			f.Links[i].Kind, f.Links[i].Parent = "vlan", 3
		}
	}
	for i := range f.Profiles {
		f.Profiles[i].Settings.Set("vlan", "id", uint32(10))
	}
	of := func(id string) Options {
		return Options{Declared: declare("eth0", "- {name: eth0, type: vlan, vlan: {base-iface: ctl0, id: "+id+"}}\n", dhcp)}
	}
	if err := CheckDeclared(f, of("10")); err != nil {
		t.Error(err)
	}
	const want = "but the host has VLAN 10 of ctl0"
	if err := CheckDeclared(f, of("11")); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// A br-ex that the agent has created must remain the declared one. What another tool created is used as it is.
func TestDeclaredBridgeOfAttachedUplink(t *testing.T) {
	f := facts(t, "bridged")
	own := networkmanager.Settings{}
	own.Set("connection", "uuid", ProfileUUID(f.MachineID, BridgeIPProfile))
	f.Profiles = append(f.Profiles, networkmanager.Profile{Settings: own})
	other := Options{Declared: declare("eth7", "", dhcp)}
	if _, err := Plan(f, other); err == nil || !strings.Contains(err.Error(), "but the uplink is eth0") {
		t.Errorf("of the agent: %v", err)
	}
	if _, err := Plan(f, Options{Declared: declare("eth0", "", dhcp)}); err != nil {
		t.Errorf("the same port: %v", err)
	}
	f.Profiles = f.Profiles[:len(f.Profiles)-1]
	if _, err := Plan(f, other); err != nil {
		t.Errorf("of another tool: %v", err)
	}
}

// The payload's nmstate-configuration.service deletes br-ex at the next boot if the content differs.
func TestAppliedFileOfDeclaredBridge(t *testing.T) {
	declared := declare("eth0", "", dhcp)
	changes, err := Files(facts(t, "bridged"), declared)
	if err != nil {
		t.Fatal(err)
	}
	if changes[0].Target != appliedFile || string(changes[0].Desired.Content) != declared.Content {
		t.Errorf("%s: %s", changes[0].Target, changes[0].Desired.Content)
	}
}
