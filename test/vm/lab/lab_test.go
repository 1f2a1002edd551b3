// SPDX-License-Identifier: Apache-2.0

//go:build vm

package lab_test

import (
	"context"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestLab checks the services, cables and faults that the network tests depend on.
func TestLab(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*waittest.Timeout)
	defer cancel()
	image, err := vm.BuildImage(ctx, filepath.Join("..", "..", ".."), t.Output())
	failOnError(t, err)
	l, err := lab.Open(ctx)
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, l.Close()) })
	plain := lab.Setup{Services: map[int]lab.Services{0: {DHCP: true}}}
	failOnError(t, l.Arrange(ctx, plain))
	m, err := vm.FromSnapshot(ctx, vm.Config{Image: image, NICs: l.NICs(), Dir: t.TempDir()})
	failOnError(t, err)
	t.Cleanup(func() { m.Close() })
	failOnError(t, m.Snapshot(ctx, "booted"))

	for _, test := range []struct {
		name  string
		setup lab.Setup
		run   func(context.Context, *testing.T, *lab.Lab, *vm.Machine)
	}{
		{"DHCP, names and faults", plain, testFaults},
		{
			"advertisements and DHCPv6",
			lab.Setup{Services: map[int]lab.Services{0: {SLAAC: true}, 100: {DHCPv6: true}}},
			testIPv6,
		},
		{"jumbo frames", lab.Setup{Services: map[int]lab.Services{0: {DHCP: true, MTU: 9000}}, MTU: 9000}, testJumbo},
		{
			"aggregation",
			lab.Setup{Services: map[int]lab.Services{0: {DHCP: true}}, Wiring: lab.Wiring{LACP: true}},
			testAggregation,
		},
		{"a card that comes late", plain, testHotplug},
	} {
		if !t.Run(test.name, func(t *testing.T) {
			failOnError(t, l.Arrange(ctx, test.setup))
			failOnError(t, m.Restore(ctx, "booted"))
			test.run(ctx, t, l, m)
		}) {
			t.FailNow()
		}
	}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the machine that must succeed and returns its output.
func run(ctx context.Context, t *testing.T, m *vm.Machine, command string) string {
	t.Helper()
	out, err := m.Output(ctx, command)
	failOnError(t, err)
	return out
}

func testFaults(ctx context.Context, t *testing.T, l *lab.Lab, m *vm.Machine) {
	run(ctx, t, m, "nm-online -q -t 60 && getent ahostsv4 peer.lab.example | grep -q 192.0.2.2")
	for _, port := range []string{"9000", "9443"} {
		run(ctx, t, m, "bash -c 'exec 3<>/dev/tcp/192.0.2.2/"+port+"'")
	}
	run(ctx, t, m, "curl -sk --http0.9 https://peer.lab.example:9443 | grep -q hello")
	address, err := m.Address(ctx)
	failOnError(t, err)
	calm := probeDuring(t, l, address, func(p *lab.Probe) { p.AwaitRequests(100) })
	if calm.Sent < 50 || calm.Unanswered {
		t.Errorf("with nothing wrong: %v", calm)
	}
	t.Logf("calm: %v", calm)
	failOnError(t, l.DropGateway(ctx, 0))
	pings := run(ctx, t, m,
		"ping -q -c 2 -W 1 -i 0.2 192.0.2.1 >/dev/null; echo $?; ping -q -c 2 -w 10 192.0.2.2 >/dev/null; echo $?")
	if pings != "1\n0" {
		t.Error("the gateway responds, or the peer does not")
	}
	failOnError(t, l.DropAll(ctx, 0))
	cut := probeDuring(t, l, address,
		func(p *lab.Probe) { p.AwaitRequests(100); failOnError(t, l.RemoveFaults(ctx)); p.AwaitRequests(100) })
	t.Logf("after the end of the fault: %v", cut)
	if cut.Unanswered || cut.Lost == 0 {
		t.Errorf("over the end of a fault: %v", cut)
	}
	run(ctx, t, m, "ping -q -c 1 -w 10 192.0.2.1")
	failOnError(t, m.Cable(0).Cut(ctx))
	if run(ctx, t, m, "cat /sys/class/net/eth0/carrier /sys/class/net/eth1/carrier") != "0\n0" {
		t.Error("a disconnected cable has a carrier")
	}
	failOnError(t, m.Cable(1).Restore(ctx))
	if run(ctx, t, m, "cat /sys/class/net/eth0/carrier /sys/class/net/eth1/carrier") != "0\n1" {
		t.Error("the carriers of the cables are wrong")
	}
	l.StopServices(0)
	run(ctx, t, m,
		"nmcli -w 15 connection add type ethernet con-name late ifname eth1 ipv4.dhcp-timeout 5 ipv6.method disabled; ! "+
			"nmcli -w 20 connection up late")
	failOnError(t, l.StartServices(ctx, 0))
	run(ctx, t, m, "nmcli -w 60 connection up late")
}

// probeDuring returns the interruptions that the peer measures while do runs.
func probeDuring(t *testing.T, l *lab.Lab, target netip.Addr, do func(*lab.Probe)) lab.Interruptions {
	t.Helper()
	p, err := l.Probe(target)
	failOnError(t, err)
	do(p)
	return p.Stop()
}

func testIPv6(ctx context.Context, t *testing.T, l *lab.Lab, m *vm.Machine) {
	run(ctx, t, m, `set -e
		nmcli -g UUID,TYPE connection show | awk -F: '/ethernet/{print $1}' | xargs -r nmcli connection delete
		nmcli connection add type ethernet con-name u ifname eth0 ipv4.method disabled ipv6.method auto
		nmcli -w 60 connection up u
		nmcli connection add type vlan con-name v ifname eth0.100 dev eth0 id 100 ipv4.method disabled ipv6.method auto
		nmcli -w 60 connection up v`)
	t.Log(run(ctx, t, m, "ip -6 -br address; ip -6 route; cat /etc/resolv.conf"))
	run(ctx, t, m,
		"ip -6 address show dev eth0 | grep -q 'inet6 2001:db8:1:' && ip -6 address show dev eth0.100 | grep -q 'inet6 "+
			"2001:db8:100::1'")
	run(ctx, t, m, "ping -q -c 2 -w 10 2001:db8:1::2; ping -q -c 2 -w 10 2001:db8:100::2")
	run(ctx, t, m, "getent ahostsv6 peer.lab.example | grep -q 2001:db8:1")
	target := run(ctx, t, m, "ip -6 -json address show dev eth0.100 scope global | jq -r '.[0].addr_info[0].local'")
	seen := probeDuring(t, l, netip.MustParseAddr(target), func(p *lab.Probe) { p.AwaitRequests(100) })
	if seen.Unanswered || seen.Sent < 50 {
		t.Errorf("IPv6 on a VLAN, from outside: %v", seen)
	}
}

func testJumbo(ctx context.Context, t *testing.T, _ *lab.Lab, m *vm.Machine) {
	run(ctx, t, m, "nm-online -q -t 60")
	t.Log(run(ctx, t, m, "ip link show dev eth0"))
	run(ctx, t, m, "ip link set dev eth0 mtu 9000; ping -q -M do -s 8972 -c 2 -w 10 192.0.2.2")
}

func testAggregation(ctx context.Context, t *testing.T, l *lab.Lab, m *vm.Machine) {
	kinds, err := uplink.Find("bond-lacp")
	failOnError(t, err)
	failOnError(t, kinds[0].Configure(ctx, m))
	run(ctx, t, m, "ping -q -c 2 -w 20 192.0.2.1")
	table := run(ctx, t, m, "cat /proc/net/bonding/bond0")
	if strings.Count(table, "Number of ports: 2") != 1 {
		t.Errorf("the machine has not aggregated its ports:\n%s", table)
	}
	state, err := l.LACPStatus(ctx)
	failOnError(t, err)
	if strings.Count(state, "may_enable: true") != 2 {
		t.Errorf("the switch has not aggregated its ports:\n%s", state)
	}
	// The loss of one of two cables only interrupts traffic until it is detected.
	failOnError(t, m.Cable(0).Cut(ctx))
	run(ctx, t, m, "ping -q -c 2 -w 20 192.0.2.1")
}

func testHotplug(ctx context.Context, t *testing.T, _ *lab.Lab, m *vm.Machine) {
	failOnError(t, m.Kill(ctx))
	failOnError(t, m.BootWithout(ctx, 0))
	failOnError(t, m.Cable(1).Cut(ctx))
	failOnError(t, m.WaitSSH(ctx))
	cards := func() string { return run(ctx, t, m, "ls /sys/class/net | grep -c '^eth'") }
	if cards() != "1" {
		t.Error("a card that was not inserted exists")
	}
	failOnError(t, m.InsertNIC(ctx, 0))
	failOnError(t, m.Await(ctx, "ip -4 address | grep 'inet 192.0.2'"))
	if cards() != "2" {
		t.Error("an inserted card does not exist")
	}
}
