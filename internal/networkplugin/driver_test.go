// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// administrator configures addresses, routes and rules of the host's own.
const administrator = `
	ip link set lo up
	ip link add up0 type veth peer name down0
	ip link set up0 up
	ip address add 192.0.2.7/24 dev up0
	ip address add 169.254.10.1/16 dev up0
	ip route add 10.132.0.0/14 via 192.0.2.1
	ip route add 198.51.100.0/24 via 192.0.2.1 table 7
	ip rule add priority 30 from 192.0.2.7 lookup 7
	ip rule add priority 6000 from 192.0.2.8 lookup 77
	iptables -N MINE
	iptables -A INPUT -j MINE
	iptables -A FORWARD -s 10.132.0.0/16 -j ACCEPT
	iptables -A FORWARD -i br-ex -j DROP
	iptables -t raw -A PREROUTING -p udp --dport 6081 -j NOTRACK
	iptables -t nat -A POSTROUTING -s 192.0.2.0/24 -j MASQUERADE
	ip6tables -A INPUT -i up0 -m comment --comment 'a "quoted" name' -j ACCEPT
	nft add table inet mine
	ovs-vsctl add-br br-mine -- set bridge br-mine datapath_type=netdev
	ovs-vsctl set Open_vSwitch . external_ids:system-id=here external_ids:rundir=/run external_ids:ovn-encap-ip=192.0.2.7
`

// cluster adds the changes of OVN-Kubernetes, ovn-controller, kubelet and CRI-O, with
// the commands of go-controller and of cluster-network-operator.
const cluster = `
	ovs-vsctl add-br br-int -- set bridge br-int datapath_type=netdev
	ovs-vsctl add-port br-int ovn-k8s-mp0 -- set interface ovn-k8s-mp0 type=internal external-ids:iface-id=k8s-node
	ovs-vsctl add-port br-mine patch-br-mine -- set port patch-br-mine external_ids:ovn-localnet-port=n \
		-- set interface patch-br-mine type=patch options:peer=patch-br-int
	ovs-vsctl add-port br-int patch-br-int -- set interface patch-br-int type=patch options:peer=patch-br-mine
	ovs-vsctl add-port br-int 0123456789abcde \
		-- set interface 0123456789abcde type=internal external_ids:sandbox=0123456789abcdef
	ovs-vsctl -- --id=@q create qos type=linux-htb external-ids:sandbox=0123456789abcdef -- set port 0123456789abcde qos=@q
	ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-ip=192.0.2.9 external_ids:ovn-encap-type=geneve \
		external_ids:ovn-bridge-mappings=physnet:br-mine
	ovs-vsctl set Open_vSwitch . external_ids:ovn-remote='" "' external_ids:ovn-set-local-ip=true \
		other_config:bundle-idle-timeout=180
	ovs-ofctl add-flow br-mine cookie=0xdeff105,priority=500,ip,in_port=LOCAL,actions=drop
	ip link set ovn-k8s-mp0 up
	ip address add 10.132.0.2/23 dev ovn-k8s-mp0
	ip address add 169.254.169.2/29 dev up0
	ip route add 172.31.0.0/16 via 10.132.0.1 dev ovn-k8s-mp0
	ip route add 10.132.0.0/14 via 10.132.0.1 dev ovn-k8s-mp0 metric 5
	ip route add 169.254.169.3 via 10.132.0.1 dev ovn-k8s-mp0
	ip route add 169.254.169.1 dev up0
	ip route add 172.30.0.0/16 via 169.254.169.4 dev up0
	ip route add table 7 172.31.0.0/16 via 10.132.0.1 dev ovn-k8s-mp0
	ip rule add fwmark 0x1745ec lookup 7 prio 30
	ip rule add priority 5999 fwmark 0x3f0 lookup main
	ip rule add priority 5000 from 10.132.0.9 lookup 77
	iptables -t nat -N OVN-KUBE-NODEPORT
	iptables -t nat -A PREROUTING -j OVN-KUBE-NODEPORT
	iptables -t nat -A OUTPUT -j OVN-KUBE-NODEPORT
	iptables -t nat -A OVN-KUBE-NODEPORT -p tcp -m addrtype --dst-type LOCAL --dport 30080 \
		-j DNAT --to-destination 172.31.0.9:80
	iptables -t mangle -N OVN-KUBE-ITP
	iptables -t mangle -A OUTPUT -j OVN-KUBE-ITP
	iptables -t nat -N OVN-KUBE-SNAT-MGMTPORT
	iptables -t nat -I POSTROUTING 1 -o ovn-k8s-mp0 -j OVN-KUBE-SNAT-MGMTPORT
	iptables -t nat -A OVN-KUBE-SNAT-MGMTPORT -o ovn-k8s-mp0 -j SNAT --to-source 10.132.0.2 \
		-m comment --comment 'OVN SNAT to Management Port'
	iptables -I INPUT -i ovn-k8s-mp0 -m comment --comment 'from OVN to localhost' -j ACCEPT
	iptables -I FORWARD -s 10.132.0.0/14 -j ACCEPT
	iptables -I FORWARD -d 172.31.0.0/16 -j ACCEPT
	iptables -I FORWARD -s 169.254.169.1 -j ACCEPT
	iptables -A FORWARD -i br-ex -j DROP
	iptables -A FORWARD -o br-ex -j DROP
	iptables -A FORWARD -o br-mine -j DROP
	iptables -t raw -A PREROUTING -p udp --dport 6081 -j NOTRACK
	iptables -t raw -A PREROUTING -p udp --dport 6081 -j NOTRACK
	iptables -t raw -A OUTPUT -p udp --dport 6081 -j NOTRACK
	ip6tables -t raw -A PREROUTING -p udp --dport 6081 -j NOTRACK
	iptables -t mangle -A PREROUTING -m mark --mark 1008 -j CONNMARK --save-mark
	iptables -t mangle -A PREROUTING -m mark --mark 0 -j CONNMARK --restore-mark
	iptables -N KUBE-FIREWALL
	iptables -N KUBE-KUBELET-CANARY
	iptables -A KUBE-FIREWALL -j KUBE-KUBELET-CANARY
	iptables -A INPUT -j KUBE-FIREWALL
	ip6tables -t mangle -N KUBE-KUBELET-CANARY
	nft add table inet ovn-kubernetes
	nft add chain inet ovn-kubernetes mgmtport-snat
	nft add table ip crio-hostports
`

// hostState returns the state of the kernel and Open vSwitch as their tools print it.
func hostState(t *testing.T) string {
	t.Helper()
	const commands = `
		ip -o link | cut -d ' ' -f 2 | sort
		ip -o address | awk '{print $2, $4}' | sort
		for f in -4 -6; do ip $f rule; ip $f route show table all | grep -v 'table local' | sort; done
		iptables-save | grep '^[-:*]' | sort; ip6tables-save | grep '^[-:*]' | sort
		nft list tables | sort
		ovs-vsctl --columns=external_ids,other_config list Open_vSwitch
		ovs-vsctl show | sed 1d
		ovs-vsctl --columns=_uuid list QoS
		ovs-ofctl dump-flows br-mine | sed 's/.*, //'
	`
	output, err := exec.CommandContext(t.Context(), "sh", "-c", commands).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return string(output)
}

func TestLeaveRemovesWhatTheNetworkPluginMade(t *testing.T) {
	if !namespaced(t) {
		return
	}
	vswitch := newSwitch(t)
	lines(t, administrator)
	// The tables and chains that iptables makes for itself stay, as they are empty.
	lines(t, `
		for t in raw mangle nat filter; do for i in iptables ip6tables; do $i -t $t -N X; $i -t $t -X X; done; done`)
	driver := &Driver{}
	before, err := driver.Get(t.Context(), NewChange())
	if err != nil {
		t.Fatal(err)
	}
	want := hostState(t)
	lines(t, cluster)

	if err := driver.Restore(t.Context(), NewChange(), before); err != nil {
		t.Fatal(err)
	}
	if got := hostState(t); got != want {
		t.Errorf("after the removal:\n%s", differing(want, got))
	}
	vswitch.stop(t)
	vswitch.start(t)
	if got := hostState(t); got != want {
		t.Errorf("after a new start of Open vSwitch:\n%s", differing(want, got))
	}
}

// ovs-vswitchd does not run: no change of the database may wait for it.
func TestLeaveRemovesBridgesWhileTheSwitchIsDown(t *testing.T) {
	if !namespaced(t) {
		return
	}
	vswitch := newSwitch(t)
	lines(t, administrator)
	driver := &Driver{}
	before, err := driver.Get(t.Context(), NewChange())
	if err != nil {
		t.Fatal(err)
	}
	lines(t, cluster)
	vswitch.stop(t, "ovs-vswitchd")
	if err := driver.Restore(t.Context(), NewChange(), before); err != nil {
		t.Fatal(err)
	}
	after, err := driver.Get(t.Context(), NewChange())
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("%v (-before +after):\n%s", err, diff)
	}
}

// differing lists the lines that only one of two texts has.
func differing(want, got string) string {
	var text strings.Builder
	wanted, gotten := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, side := range []struct {
		sign         string
		these, those []string
	}{{"- ", wanted, gotten}, {"+ ", gotten, wanted}} {
		for _, line := range side.these {
			if !slices.Contains(side.those, line) {
				text.WriteString(side.sign + line + "\n")
			}
		}
	}
	if text.Len() == 0 {
		return want + "\n*** and ***\n" + got
	}
	return text.String()
}

func TestLeaveReportsWhatItCannotRemove(t *testing.T) {
	if !namespaced(t) {
		return
	}
	newSwitch(t)
	driver := &Driver{}
	before, err := driver.Get(t.Context(), NewChange())
	if err != nil {
		t.Fatal(err)
	}
	// nftables refuses to delete a chain to which another table's element leads.
	lines(t, `
		iptables -N KUBE-FIREWALL
		iptables -N MINE
		nft add map ip filter m '{ type ipv4_addr : verdict; }'
		nft add element ip filter m '{ 192.0.2.1 : jump KUBE-FIREWALL }'`)
	err = driver.Restore(t.Context(), NewChange(), before)
	remedied := "iptables --wait 10 --table filter --flush KUBE-FIREWALL && " +
		"iptables --wait 10 --table filter --delete-chain KUBE-FIREWALL"
	if err == nil || !strings.Contains(err.Error(), "remain on this host: iptables") {
		t.Errorf("error %v", err)
	}
	if remedy := report.RemedyOf(err); string(remedy) != remedied {
		t.Errorf("remedy %q, want %q", remedy, remedied)
	}
	lines(t, "nft delete map ip filter m\n"+remedied)
	if err := driver.Restore(t.Context(), NewChange(), before); err != nil {
		t.Errorf("after the remedy: %v", err)
	}
	if _, err := command.Run(t.Context(), "iptables", "-S", "MINE"); err != nil {
		t.Errorf("the administrator's chain: %v", err)
	}
}
