// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesOfTheAdministratorAreNotTheClusters(t *testing.T) {
	const saved = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:NOT-KUBE-MINE - [0:0]
:DOCKER - [0:0]
-A INPUT -i br-ex -j DROP
-A INPUT -p udp -m udp --dport 6081 -j NOTRACK
-A INPUT ! -i ovn-k8s-mp0 -p tcp -j MINE
-A INPUT -m comment --comment "-j KUBE-FIREWALL" -j ACCEPT
-A FORWARD -i br-ex -o br-ex -j DROP
-A FORWARD -i br-exit -j DROP
-A FORWARD -s 10.0.0.0/8 -j ACCEPT
-A FORWARD -s 172.30.0.0/16 -j ACCEPT
-A FORWARD -s 10.132.0.0/14 -j DROP
-A FORWARD -s 10.132.0.0/14 -d 192.0.2.1/32 -j ACCEPT
-A FORWARD -j DOCKER
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
-A PREROUTING -m mark --mark 0x0 -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff
COMMIT
# Table ` + "`mine' is incompatible, use 'nft' tool." + `
`
	facts := networkFacts{
		IPTables: map[string]string{"iptables": saved},
		Routes:   overManagementPort("10.132.0.0/14", "fe80::/64"),
	}
	facts.NFTables = []nfTable{{Family: "inet", Name: "filter"}, {Family: "inet", Name: "my-ovn-kubernetes"}}
	facts.Services = []netip.Addr{netip.MustParseAddr("172.31.0.10")}
	if diff := cmp.Diff([]string(nil), commands(listLeftovers(facts))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// While OVN-Kubernetes starts, its rules for the service network exist and no
// route to that network does.
func TestRulesOfTheServiceNetworkAreFoundWithoutARoute(t *testing.T) {
	const saved = `*filter
:FORWARD ACCEPT [0:0]
-A FORWARD -d 172.31.0.0/16 -j ACCEPT
-A FORWARD -s 172.31.0.0/16 -j ACCEPT
-A FORWARD -s 0.0.0.0/0 -j ACCEPT
-A FORWARD -s 172.30.0.0/16 -j ACCEPT
COMMIT
`
	want := []string{
		"iptables --table filter --delete FORWARD -d 172.31.0.0/16 -j ACCEPT",
		"iptables --table filter --delete FORWARD -s 172.31.0.0/16 -j ACCEPT",
	}
	facts := networkFacts{
		IPTables: map[string]string{"iptables": saved},
		Services: []netip.Addr{netip.MustParseAddr("172.31.0.10")},
	}
	if diff := cmp.Diff(want, commands(listLeftovers(facts))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
