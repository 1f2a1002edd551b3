// SPDX-License-Identifier: Apache-2.0

//go:build vm

package vm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// startBooted starts a new machine and waits until it has booted.
func startBooted(ctx context.Context, t *testing.T) *vm.Machine {
	t.Helper()
	began := time.Now()
	m, err := vm.Start(ctx, vm.Config{Image: buildImage(t), Network: newLAN(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if err := m.WaitSSH(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("ssh after %v", time.Since(began))
	state, err := m.WaitBoot(ctx)
	if err != nil || state != "running" {
		t.Fatalf("boot ended with %q, %v; want running", state, err)
	}
	t.Logf("running after %v", time.Since(began))
	return m
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*waittest.Timeout)
	t.Cleanup(cancel)
	return ctx
}

// TestPlainHost checks the properties of a RHEL host on which OpenShift's packages are installed
// and not configured.
func TestPlainHost(t *testing.T) {
	ctx := testContext(t)
	m := startBooted(ctx, t)

	checks := []struct{ name, command, want string }{
		{"host name", "hostname; cat /etc/hostname", "worker-0\nworker-0"},
		{"no failed unit", "systemctl --failed --no-legend", ""},
		{"uplink is NetworkManager's", "nmcli -g GENERAL.STATE device show eth0", "100 (connected)"},
		{"control channel is not", "nmcli -g GENERAL.STATE device show ctl0", "10 (unmanaged)"},
		{"the only default route", "ip route show default | cut -d' ' -f1-5", "default via 192.0.2.1 dev eth0"},
		{"no IPv6 default route", "ip -6 route show default", ""},
		{
			"Open vSwitch is installed and off", "systemctl is-active openvswitch; systemctl is-enabled openvswitch; true",
			"inactive\ndisabled",
		},
		{"CRI-O is installed and off", "systemctl is-active crio; systemctl is-enabled crio; true", "inactive\ndisabled"},
		{"kubelet has no unit", "systemctl cat kubelet.service 2>&1; true", "No files found for kubelet.service."},
		{"kubelet's version", "kubelet --version | cut -d' ' -f2 | cut -d. -f1-2", "v1.34"},
		{"cgroup v2", "stat -fc %T /sys/fs/cgroup", "cgroup2fs"},
		{"no swap", "swapon --show", ""},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if got := output(ctx, t, m.Channel, c.command); got != c.want {
				t.Errorf("%s: got %q, want %q", c.command, got, c.want)
			}
		})
	}
	t.Run("NetworkManager supports Open vSwitch", func(t *testing.T) {
		journal := output(ctx, t, m.Channel, "journalctl -b -u NetworkManager -o cat")
		if !strings.Contains(journal, "Loaded device plugin: NMOvsFactory") {
			t.Errorf("no NMOvsFactory in NetworkManager's journal:\n%s", journal)
		}
	})
	t.Run("Open vSwitch forwards in the kernel", func(t *testing.T) { testOpenVSwitch(ctx, t, m) })
	t.Run("CRI-O starts", func(t *testing.T) {
		output(ctx, t, m.Channel, "systemctl start crio && systemctl is-active crio")
	})
}

// testOpenVSwitch creates a bridge with NetworkManager and pings from it. NetworkManager must
// restart first: version 1.42 connects to OVSDB when it starts and later only when a port is
// attached. An ovs-interface therefore stays unavailable if Open vSwitch started later
// (nm-ovsdb.c, ovsdb_try_connect).
func testOpenVSwitch(ctx context.Context, t *testing.T, m *vm.Machine) {
	output(ctx, t, m.Channel, `set -e
		systemctl start openvswitch
		systemctl restart NetworkManager
		nmcli -w 60 connection add type ovs-bridge con-name br0 conn.interface br0
		nmcli -w 60 connection add type ovs-port con-name p0 conn.interface br0 master br0
		nmcli -w 60 connection add type ovs-interface slave-type ovs-port con-name i0 conn.interface br0 master p0 \
			ipv4.method manual ipv4.address 203.0.113.1/24 ipv6.method disabled
		nmcli -w 60 connection up i0
		ip netns add behind
		ip link add veth0 type veth peer name eth0 netns behind
		ip link set veth0 up
		ip -n behind address add 203.0.113.2/24 dev eth0
		ip -n behind link set eth0 up
		ovs-vsctl add-port br0 veth0
		ip netns exec behind ping -q -c 3 -w 20 203.0.113.1`)
	got := output(ctx, t, m.Channel,
		"ovs-appctl dpctl/dump-dps; grep -c '^openvswitch ' /proc/modules")
	if got != "system@ovs-system\n1" {
		t.Errorf("datapaths and kernel modules: got %q, want the kernel's", got)
	}
}
