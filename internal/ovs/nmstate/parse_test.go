// SPDX-License-Identifier: Apache-2.0

package nmstate

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// documented is the example of OpenShift's documentation for bare metal, with OVN-Kubernetes' own address.
const documented = `
interfaces:
- name: enp2s0
  type: ethernet
  state: up
  ipv4: {enabled: false}
  ipv6: {enabled: false}
- name: br-ex
  type: ovs-bridge
  state: up
  ipv4: {enabled: false, dhcp: false}
  ipv6: {enabled: false, dhcp: false}
  bridge:
    options:
      mcast-snooping-enable: true
    port:
    - name: enp2s0
    - name: br-ex
- name: br-ex
  type: ovs-interface
  state: up
  copy-mac-from: enp2s0
  ipv4:
    enabled: true
    dhcp: true
    auto-route-metric: 48
    address:
    - {ip: 169.254.169.2, prefix-length: 29}
  ipv6: {enabled: false, dhcp: false}
`

const static = `
interfaces:
- name: bond0.10
  type: vlan
  vlan: {base-iface: bond0, id: 10}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno1, eno2]}}
- {name: eno1, type: ethernet}
- name: br-ex
  type: ovs-bridge
  bridge: {allow-extra-patch-ports: true, port: [{name: bond0.10}, {name: br-ex}]}
- name: br-ex
  type: ovs-interface
  mtu: 9000
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.7, prefix-length: 24}]}
  ipv6: {enabled: true, autoconf: true, dhcp: true}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: br-ex}
dns-resolver:
  config: {server: [192.0.2.53], search: [example.com]}
`

func TestParse(t *testing.T) {
	for content, want := range map[string]Bridge{
		documented: {Port: "enp2s0", PortType: "ethernet", MulticastSnooping: true, IPv4: Family{Automatic: true}},
		static: {
			Port: "bond0.10", PortType: "vlan", VLAN: &VLAN{Parent: "bond0", ID: 10}, MTU: 9000,
			Bond: &Bond{Name: "bond0", Mode: "active-backup", Ports: []string{"eno1", "eno2"}},
			IPv4: Family{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}, IPv6: Family{Automatic: true},
			Routes: []Route{{
				Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.0.2.1"), Interface: "br-ex",
			}},
			DNS: DNS{Servers: []netip.Addr{netip.MustParseAddr("192.0.2.53")}, Search: []string{"example.com"}},
		},
	} {
		got, err := Parse([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// What the agent does not build is refused with its key.
func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"another key":     {"copy-mac-from: enp2s0", "mac-address: 52:54:00:00:00:01", `unknown field "mac-address"`},
		"a bridge option": {"mcast-snooping-enable", "stp", `unknown field "stp"`},
		"two ports":       {"    - name: br-ex\n", "    - name: enp3s0\n", "br-ex has the ports enp2s0, enp3s0"},
		"no port":         {"    - name: enp2s0\n", "", "br-ex has the ports :"},
		"no address":      {"type: ovs-interface", "type: dummy", "no br-ex of type ovs-interface"},
		"a second bridge": {"routes", "", "interface br-ex1 of type ovs-bridge is neither"},
		"an absent one":   {"state: up\n  ipv4: {enabled: false}\n", "state: absent\n", "interface enp2s0: state absent"},
		"addressed port": {
			"ipv4: {enabled: false}\n  ipv6", "ipv4: {enabled: true, dhcp: true}\n  ipv6", "enp2s0 has addresses",
		},
		"another MAC": {"copy-mac-from: enp2s0", "copy-mac-from: enp3s0", "copy-mac-from enp3s0"},
		"both kinds": {
			"ip: 169.254.169.2, prefix-length: 29", "ip: 192.0.2.7, prefix-length: 24", "static addresses beside",
		},
		"a bad prefix":     {"prefix-length: 29", "prefix-length: 33", "prefix-length 33 is not valid"},
		"a bad address":    {"ip: 169.254.169.2", "ip: 169.254.169", "IPv4 address too short"},
		"another port":     {"type: ethernet", "type: team", "must be ethernet, bond or vlan"},
		"not YAML":         {"interfaces:", "\tinterfaces:", "yaml"},
		"no bridge at all": {"interfaces:", "capture: {}\ninterfaces:", `unknown field "capture"`},
	} {
		content := strings.Replace(documented, test.old, test.new, 1)
		if name == "a second bridge" {
			content = documented + "- {name: br-ex1, type: ovs-bridge, bridge: {port: [{name: enp3s0}]}}\n"
		}
		if _, err := Parse([]byte(content)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := strings.Replace(static, "next-hop-interface: br-ex", "next-hop-interface: eno3", 1)
	if _, err := Parse([]byte(other)); err == nil || !strings.Contains(err.Error(), "next-hop-interface eno3") {
		t.Errorf("a route over another interface: %v", err)
	}
	parentless := strings.Replace(static, "base-iface: bond0", "base-iface: eno1", 1)
	const want = "interface bond0 of type bond is neither"
	if _, err := Parse([]byte(parentless)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an interface that is not below the port: %v", err)
	}
}
