// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// recorded reads what a program printed on a Debian 12 host with the state of
// plugin_host_test.go.
func recorded(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// commands returns the removals as shell commands, without the options that all
// commands of a binary have.
func commands(list []leftover) []string {
	var all []string
	for _, leftover := range list {
		line := shellLine(leftover.Remove)
		for _, option := range []string{"--wait 10 ", "--timeout=10 ", "--protocols=" + openvswitch.FlowVersions + " "} {
			line = strings.ReplaceAll(line, option, "")
		}
		all = append(all, line)
	}
	return all
}

func overManagementPort(networks ...string) []hostnet.TableRoute {
	var routes []hostnet.TableRoute
	for _, network := range networks {
		routes = append(
			routes,
			hostnet.TableRoute{
				Route: hostnet.Route{Family: 4, Link: "ovn-k8s-mp0"}, Table: 254, Destination: netip.MustParsePrefix(network),
			},
		)
	}
	return routes
}

func TestPacketFilterRulesOfTheClusterAreFound(t *testing.T) {
	facts := networkFacts{
		IPTables: map[string]string{
			"iptables":  recorded(t, "iptables-save.txt"),
			"ip6tables": recorded(t, "ip6tables-save.txt"),
		},
		Routes:   overManagementPort("10.132.0.0/14", "172.31.0.0/16"),
		Database: &openvswitch.Database{ExternalIDs: map[string]string{"ovn-bridge-mappings": "physnet:br-mine"}},
	}
	tables, err := parseNFTables([]byte(recorded(t, "nft-tables.json")))
	if err != nil {
		t.Fatal(err)
	}
	facts.NFTables = tables
	want := []string{
		"iptables --table mangle --delete PREROUTING -m mark --mark 0x3f0 -j CONNMARK --save-mark --nfmask 0xffffffff " +
			"--ctmask 0xffffffff",
		"iptables --table mangle --delete PREROUTING -m mark --mark 0x0 -j CONNMARK --restore-mark --nfmask 0xffffffff " +
			"--ctmask 0xffffffff",
		"iptables --table mangle --delete OUTPUT -j OVN-KUBE-ITP",
		"iptables --table raw --delete PREROUTING -p udp -m udp --dport 6081 -j NOTRACK",
		"iptables --table raw --delete PREROUTING -p udp -m udp --dport 6081 -j NOTRACK",
		"iptables --table raw --delete OUTPUT -p udp -m udp --dport 6081 -j NOTRACK",
		"iptables --table filter --delete INPUT -i ovn-k8s-mp0 -m comment --comment 'from OVN to localhost' -j ACCEPT",
		"iptables --table filter --delete INPUT -j KUBE-FIREWALL",
		"iptables --table filter --delete FORWARD -s 169.254.169.1/32 -j ACCEPT",
		"iptables --table filter --delete FORWARD -d 172.31.0.0/16 -j ACCEPT",
		"iptables --table filter --delete FORWARD -s 10.132.0.0/14 -j ACCEPT",
		"iptables --table filter --delete FORWARD -i br-ex -j DROP",
		"iptables --table filter --delete FORWARD -o br-ex -j DROP",
		"iptables --table filter --delete FORWARD -o br-mine -j DROP",
		"iptables --table nat --delete PREROUTING -j OVN-KUBE-NODEPORT",
		"iptables --table nat --delete OUTPUT -j OVN-KUBE-NODEPORT",
		"iptables --table nat --delete POSTROUTING -o ovn-k8s-mp0 -j OVN-KUBE-SNAT-MGMTPORT",
		"iptables --table mangle --delete-chain OVN-KUBE-ITP",
		"iptables --table filter --delete-chain KUBE-FIREWALL",
		"iptables --table filter --delete-chain KUBE-KUBELET-CANARY",
		"iptables --table nat --delete-chain OVN-KUBE-NODEPORT",
		"iptables --table nat --delete-chain OVN-KUBE-SNAT-MGMTPORT",
		"ip6tables --table raw --delete PREROUTING -p udp -m udp --dport 6081 -j NOTRACK",
		"ip6tables --table mangle --delete-chain KUBE-KUBELET-CANARY",
		"nft delete table inet ovn-kubernetes",
		"nft delete table ip crio-hostports",
		"ovs-vsctl --no-wait remove Open_vSwitch . external_ids ovn-bridge-mappings",
	}
	// The administrator had two of these rules before the join: one of the three
	// for Geneve, and one of the two for br-ex.
	before := []string{
		"iptables --wait 10 --table raw --delete PREROUTING -p udp -m udp --dport 6081 -j NOTRACK",
		"iptables --wait 10 --table filter --delete FORWARD -i br-ex -j DROP",
	}
	if diff := cmp.Diff(want, commands(since(listLeftovers(facts), before))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRoutingRulesOfTheClusterAreFound(t *testing.T) {
	prefix := netip.MustParsePrefix
	links := []hostnet.Link{{Name: "eth0", Index: 2}, {Name: "ovn-k8s-mp4", Index: 9}}
	facts := networkFacts{
		Links: links, Routes: overManagementPort("10.132.0.0/14"),
		Rules: []hostnet.PolicyRule{
			{Family: 4, Priority: 0, Table: 255},
			{Family: 4, Priority: 30, Mark: 0x1745ec, Table: 7},
			{Family: 4, Priority: 30, Mark: 0x1745ec, Table: 8},
			{Family: 4, Priority: 30, Source: prefix("192.0.2.0/24"), Table: 7},
			{Family: 4, Priority: 2000, Destination: prefix("169.254.0.12/32"), Table: 1009},
			{Family: 4, Priority: 2000, Destination: prefix("169.254.0.12/32"), Table: 1002},
			{Family: 4, Priority: 5000, Source: prefix("10.132.1.9/32"), Table: 77},
			{Family: 4, Priority: 5000, Source: prefix("10.136.1.9/32"), Table: 77},
			{Family: 4, Priority: 5000, Table: 77},
			{Family: 6, Priority: 5999, Mark: 0x3f0, Table: 254},
			{Family: 4, Priority: 6000, Source: prefix("10.132.0.8/32"), Table: 1002},
			{Family: 4, Priority: 6000, Source: prefix("10.132.0.0/24"), Table: 1002},
			{Family: 4, Priority: 6000, Source: prefix("10.132.0.8/32"), Table: 1003},
			{Family: 4, Priority: 32766, Table: 254},
		},
	}
	want := []string{
		"ip -4 rule delete priority 30 fwmark 0x1745ec table 7",
		"ip -4 rule delete priority 2000 to 169.254.0.12/32 table 1009",
		"ip -4 rule delete priority 5000 from 10.132.1.9/32 table 77",
		"ip -6 rule delete priority 5999 fwmark 0x3f0 table 254",
		"ip -4 rule delete priority 6000 from 10.132.0.8/32 table 1002",
		"ip link delete ovn-k8s-mp4",
	}
	if diff := cmp.Diff(want, commands(listLeftovers(facts))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAddressesAndRoutesOfTheClusterAreFound(t *testing.T) {
	prefix := netip.MustParsePrefix
	facts := networkFacts{
		Links: []hostnet.Link{{Name: "eth1", Index: 3}},
		Rules: []hostnet.PolicyRule{{Family: 4, Priority: 6000, Source: prefix("10.132.0.8/32"), Table: 1003}},
		Addresses: []hostnet.LinkAddress{
			{Link: "br-ex", Label: "br-ex", Address: prefix("169.254.0.2/17")},
			{Link: "br-ex", Label: "br-ex", Address: prefix("192.0.2.7/24")},
			{Link: "br-ex", Address: prefix("fd69::2/112")},
			{Link: "eth1", Label: "eth1eip", Address: prefix("198.51.100.9/32")},
			{Link: "eth1", Label: "eth1", Address: prefix("169.254.10.1/16")},
		},
		Routes: []hostnet.TableRoute{
			{
				Route: hostnet.Route{Family: 4, Link: "br-ex", Gateway: netip.MustParseAddr("192.0.2.1")},
				Table: 254, Destination: prefix("0.0.0.0/0"),
			},
			{Route: hostnet.Route{Family: 4, Link: "br-ex"}, Table: 254, Destination: prefix("169.254.0.1/32")},
			{
				Route: hostnet.Route{Family: 4, Link: "br-ex", Gateway: netip.MustParseAddr("169.254.0.4")},
				Table: 254, Destination: prefix("172.31.0.0/16"),
			},
			{Route: hostnet.Route{Family: 4, Link: "eth1"}, Table: 254, Destination: prefix("169.254.0.9/32")},
			{
				Route: hostnet.Route{Family: 4, Link: "eth1", Gateway: netip.MustParseAddr("198.51.100.1")},
				Table: 1003, Destination: prefix("0.0.0.0/0"),
			},
			{
				Route: hostnet.Route{Family: 4, Link: "eth1", Gateway: netip.MustParseAddr("198.51.100.1")},
				Table: 1004, Destination: prefix("0.0.0.0/0"),
			},
		},
	}
	want := []string{
		"ip -4 rule delete priority 6000 from 10.132.0.8/32 table 1003",
		"ip -4 route delete 169.254.0.1/32 dev br-ex table 254",
		"ip -4 route delete 172.31.0.0/16 via 169.254.0.4 dev br-ex table 254",
		"ip -4 route delete 0.0.0.0/0 via 198.51.100.1 dev eth1 table 1003",
		"ip address delete 169.254.0.2/17 dev br-ex",
		"ip address delete fd69::2/112 dev br-ex",
		"ip address delete 198.51.100.9/32 dev eth1",
	}
	if diff := cmp.Diff(want, commands(listLeftovers(facts))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSwitchStateOfTheClusterIsFound(t *testing.T) {
	database := openvswitch.Database{
		ExternalIDs: map[string]string{"ovn-encap-ip": "192.0.2.9", "ovn-remote": " ", "system-id": "here", "hostname": "n"},
		OtherConfig: map[string]string{"bundle-idle-timeout": "180", "dpdk-init": "true"},
		Bridges: []openvswitch.Bridge{
			{Name: "br-int", Ports: []openvswitch.Port{
				{Name: "patch-b", ExternalIDs: map[string]string{"ovn-localnet-port": "n"}},
			}},
			{Name: "br-mine", Ports: []openvswitch.Port{
				{Name: "eth1", ExternalIDs: map[string]string{"NM.connection.uuid": "1"}},
				{Name: "patch-a", ExternalIDs: map[string]string{"ovn-localnet-port": "n"}},
			}},
		},
		Rows: []openvswitch.Row{
			{Table: "QoS", UUID: "u1", ExternalIDs: map[string]string{"sandbox": "0123"}},
			{Table: "Queue", UUID: "u2", ExternalIDs: map[string]string{"ovn_port": "p"}},
			{Table: "QoS", UUID: "u3"},
		},
	}
	links := []hostnet.Link{
		{Name: "ovs-system", Kind: "openvswitch"},
		{Name: "br-mine", Kind: "openvswitch"},
		{Name: "br-int", Kind: "openvswitch"},
		{Name: "ovn-k8s-mp0", Kind: "openvswitch"},
		{Name: "genev_sys_6081", Kind: "geneve"},
		{Name: "ovn-mine", Kind: "dummy"},
	}
	want := []string{
		"ovs-ofctl del-flows br-mine cookie=0xdeff105/-1",
		"ovs-vsctl --if-exists del-br br-int",
		"ovs-vsctl --if-exists del-port br-mine patch-a",
		"ovs-vsctl destroy QoS u1",
		"ovs-vsctl destroy Queue u2",
		"ovs-vsctl --no-wait remove Open_vSwitch . external_ids ovn-encap-ip",
		"ovs-vsctl --no-wait remove Open_vSwitch . external_ids ovn-remote",
		"ovs-vsctl --no-wait remove Open_vSwitch . other_config bundle-idle-timeout",
		"ovs-dpctl del-if system@ovs-system br-int",
		"ovs-dpctl del-if system@ovs-system ovn-k8s-mp0",
	}
	list := listLeftovers(networkFacts{Database: &database, Links: links, Flows: []string{"br-mine"}})
	if diff := cmp.Diff(want, commands(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The datapath and tunnels serve no other bridge, and then go too.
	alone := networkFacts{
		Database: &openvswitch.Database{Bridges: []openvswitch.Bridge{{Name: "br-int"}}},
		Links:    []hostnet.Link{links[0], links[4]},
	}
	want = []string{
		"ovs-vsctl --if-exists del-br br-int",
		"ovs-dpctl del-dp system@ovs-system",
		"ip link delete genev_sys_6081",
	}
	if diff := cmp.Diff(want, commands(listLeftovers(alone))); diff != "" {
		t.Errorf("without other bridges (-want +got):\n%s", diff)
	}
	alone.Database = nil // it could not be read
	if diff := cmp.Diff([]string(nil), commands(listLeftovers(alone))); diff != "" {
		t.Errorf("with unknown bridges (-want +got):\n%s", diff)
	}

	// A setting from before the join is set again where it has another value now.
	before := []string{
		"Open_vSwitch external_ids:ovn-encap-ip=192.0.2.7",
		"Open_vSwitch external_ids:ovn-remote= ",
		"bridge",
	}
	wantSet := [][]string{vsctl("--no-wait", "set", "Open_vSwitch", ".", `external_ids:ovn-encap-ip="192.0.2.7"`)}
	if diff := cmp.Diff(wantSet, restoredSettings(list, before)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestRuleArgumentsAreSplitAsIPTablesQuotesThem(t *testing.T) {
	for line, want := range map[string][]string{
		`-A INPUT -j X`: {"-A", "INPUT", "-j", "X"},
		`-A INPUT -m comment --comment "a \"quoted\" \\ name" -j X`: {
			"-A", "INPUT", "-m", "comment", "--comment",
			`a "quoted" \ name`, "-j", "X",
		},
		`-A INPUT -m comment --comment "it\'s" -j X`: {"-A", "INPUT", "-m", "comment", "--comment", "it's", "-j", "X"},
		`-A INPUT -m comment --comment "" -j X`:      {"-A", "INPUT", "-m", "comment", "--comment", "", "-j", "X"},
	} {
		if diff := cmp.Diff(want, systemd.SplitWords(line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	if got, want := shellLine([]string{"x", "it's", "", "a b", "a=b:c"}), `x 'it'\''s' '' 'a b' a=b:c`; got != want {
		t.Errorf("shellLine() = %s, want %s", got, want)
	}
}
