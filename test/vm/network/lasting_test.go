// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// TestNetworkSurvivesHostChanges simulates later events on a host whose uplink is attached to br-ex. The network
// must recover each time without manual action.
func TestNetworkSurvivesHostChanges(t *testing.T) {
	for _, test := range []struct {
		name  string
		kinds string
		do    func(context.Context, *testing.T, host)
	}{
		{"NetworkManager restarted", "dhcp4,bond-backup", checkNetworkManagerRestart},
		{"Open vSwitch restarted", "dhcp4", checkOpenVSwitchRestart},
		{"card renamed", "dhcp4", checkRenamedNIC},
		{"card late", "dhcp4", bootWithLateNIC},
		{"Open vSwitch missing at boot", "dhcp4", bootWithoutOpenVSwitch},
	} {
		found, err := uplink.Find(test.kinds)
		must(t, err)
		for _, kind := range found {
			t.Run(test.name+" "+kind.Name, func(t *testing.T) {
				ctx, h := newHost(t, kind)
				row := newRow(t, kind.Name+", "+test.name)
				runAgent(ctx, t, migrationCommand+kind.Flags)
				test.do(ctx, t, h)
				row.setRebooted(h.checkState(ctx, t, "afterwards"))
				h.checkReachable(ctx, t)
			})
		}
	}
}

func mustRun(ctx context.Context, t *testing.T, command string) string {
	t.Helper()
	out, err := machine.Output(ctx, command)
	must(t, err)
	return out
}

func checkNetworkManagerRestart(ctx context.Context, t *testing.T, h host) {
	mustRun(ctx, t, "systemctl restart NetworkManager && nm-online -q -t 90")
	must(t, h.Await(ctx, machine))
	ports := mustRun(ctx, t, "ovs-vsctl get Bridge br-ex external_ids:bridge-uplink; ovs-vsctl get Interface "+h.Uplink+
		" type")
	if ports != h.Uplink+"\nsystem" {
		t.Errorf("br-ex after a restart of NetworkManager: %s", ports)
	}
}

func checkOpenVSwitchRestart(ctx context.Context, t *testing.T, h host) {
	mustRun(ctx, t, "systemctl restart openvswitch && nm-online -q -t 90")
	must(t, h.Await(ctx, machine))
}

// checkRenamedNIC renames eth0 from the next boot on. The port and the uplink must have the new name
// without a run of the agent.
func checkRenamedNIC(ctx context.Context, t *testing.T, h host) {
	renameNIC(ctx, t, h)
	ports := mustRun(ctx, t,
		"ovs-vsctl list-ports br-ex | grep -v '^br-ex$'; ovs-vsctl get Bridge br-ex external_ids:bridge-uplink")
	if ports != "lan0\nlan0" {
		t.Errorf("the port and the uplink are called %s", ports)
	}
	h.checkReachable(ctx, t)
	runAgent(ctx, t, migrationCommand) // must change nothing
	// Restore the old name for the comparison of the state.
	mustRun(ctx, t, "rm /etc/systemd/network/05-renamed.link; sync")
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
}

// TestLeaveAfterNICRename runs leave after eth0 was renamed at a boot, with the original profile
// bound to the name eth0. leave must print the required command before it changes the network,
// and succeed afterwards.
func TestLeaveAfterNICRename(t *testing.T) {
	found, err := uplink.Find("static4")
	must(t, err)
	ctx, h := newHost(t, found[0])
	runAgent(ctx, t, migrationCommand+h.Flags)
	renameNIC(ctx, t, h)
	refused, err := machine.Run(ctx, "hcp-node-agent leave --no-drain; exit $?")
	must(t, err)
	output := refused.Stdout + refused.Stderr
	t.Log(output)
	command := regexp.MustCompile(`nmcli connection modify \S+ connection.interface-name lan0`).FindString(output)
	if refused.ExitCode == int(report.Success) || command == "" {
		t.Fatalf("exit code %d", refused.ExitCode)
	}
	h.checkReachable(ctx, t)
	mustRun(ctx, t, command)
	runAgent(ctx, t, "leave --no-drain")
	h.Uplink = "lan0"
	bridges := mustRun(ctx, t,
		"ovs-vsctl list-br; ls /etc/NetworkManager/system-connections | grep ovs; true")
	if bridges != "" {
		t.Errorf("left behind: %s", bridges)
	}
	h.checkReachable(ctx, t)
}

// TestTruncatedOVSDB boots with the files that a power cut during Open vSwitch's first start
// leaves. Open vSwitch cannot start then. The next run must fix this and complete the migration.
func TestTruncatedOVSDB(t *testing.T) {
	found, err := uplink.Find("static4")
	must(t, err)
	ctx, h := newHost(t, found[0])
	mustRun(ctx, t, `systemctl stop openvswitch ovs-vswitchd ovsdb-server
		cd /etc/openvswitch && : >conf.db && : >system-id.conf && systemctl enable openvswitch && sync`)
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
	if state := mustRun(ctx, t, "systemctl is-active openvswitch; true"); state == "active" {
		t.Fatal("Open vSwitch starts with an empty database, so this test is obsolete")
	}
	runAgent(ctx, t, migrationCommand+h.Flags)
	h.checkState(ctx, t, "after the run")
	if identity := mustRun(ctx, t, "ovs-vsctl get Open_vSwitch . external_ids:system-id"); len(identity) < 36 {
		t.Errorf("the system ID of Open vSwitch is %q", identity)
	}
}

// renameNIC renames eth0 to lan0 by a reboot.
func renameNIC(ctx context.Context, t *testing.T, h host) {
	t.Helper()
	mustRun(ctx, t,
		`printf '[Match]\nPermanentMACAddress=%s\n[Link]\nName=lan0\n' "$(cat /sys/class/net/eth0/address)" \
			>/etc/systemd/network/05-renamed.link; sync`)
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
	if cards := mustRun(ctx, t, "ls /sys/class/net"); !strings.Contains(cards, "lan0") {
		t.Fatalf("the card was not renamed:\n%s", cards)
	}
}

// isLate succeeds when Open vSwitch runs and NetworkManager has been running for 30 seconds.
const isLate = `systemctl is-active NetworkManager ovs-vswitchd &&
	read up rest </proc/uptime &&
	[ "${up%.*}" -ge $(($(systemctl show -P ActiveEnterTimestampMonotonic NetworkManager) / 1000000 + 30)) ]`

// bootWithLateNIC boots without network cards and plugs them in half a minute after NetworkManager has started. They
// get the names that they had.
func bootWithLateNIC(ctx context.Context, t *testing.T, h host) {
	must(t, machine.PowerOff(ctx))
	must(t, machine.BootWithout(ctx, 0, 1))
	must(t, machine.WaitSSH(ctx))
	must(t, machine.Await(ctx, isLate))
	for nic := range 2 {
		must(t, machine.InsertNIC(ctx, nic))
	}
	must(t, h.Await(ctx, machine))
}

// bootWithoutOpenVSwitch boots without Open vSwitch: the host must use its own profile.
func bootWithoutOpenVSwitch(ctx context.Context, t *testing.T, h host) {
	mustRun(ctx, t, "systemctl mask openvswitch ovs-vswitchd ovsdb-server; sync")
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
}
