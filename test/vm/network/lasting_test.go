//go:build vm

package network

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// TestLasting simulates later events on a host whose uplink is attached to br-ex. The network
// must recover each time without manual action.
func TestLasting(t *testing.T) {
	for _, test := range []struct {
		name  string
		kinds string
		do    func(context.Context, *testing.T, host)
	}{
		{"NetworkManager restarted", "dhcp4,bond-backup", restartedNetworkManager},
		{"Open vSwitch restarted", "dhcp4", restartedSwitch},
		{"card renamed", "dhcp4", renamedCard},
		{"card late", "dhcp4", lateCard},
		{"Open vSwitch missing at boot", "dhcp4", missingSwitch},
	} {
		found, err := uplink.Find(test.kinds)
		must(t, err)
		for _, kind := range found {
			t.Run(test.name+" "+kind.Name, func(t *testing.T) {
				ctx, h := fresh(t, kind)
				row := newRow(t, kind.Name+", "+test.name)
				agent(ctx, t, moving+kind.Flags)
				test.do(ctx, t, h)
				row.rebooted(h.keeps(ctx, t, "afterwards"))
				h.answers(ctx, t)
			})
		}
	}
}

func do(ctx context.Context, t *testing.T, command string) string {
	t.Helper()
	out, err := machine.Output(ctx, command)
	must(t, err)
	return out
}

func restartedNetworkManager(ctx context.Context, t *testing.T, h host) {
	do(ctx, t, "systemctl restart NetworkManager && nm-online -q -t 90")
	must(t, h.Await(ctx, machine))
	if ports := do(ctx, t, "ovs-vsctl get Bridge br-ex external_ids:bridge-uplink; ovs-vsctl get Interface "+h.Uplink+" type"); ports != h.Uplink+"\nsystem" {
		t.Errorf("br-ex after a restart of NetworkManager: %s", ports)
	}
}

func restartedSwitch(ctx context.Context, t *testing.T, h host) {
	do(ctx, t, "systemctl restart openvswitch && nm-online -q -t 90")
	must(t, h.Await(ctx, machine))
}

// renamedCard renames eth0 from the next boot on. The port and the uplink must have the new name
// without a run of the agent.
func renamedCard(ctx context.Context, t *testing.T, h host) {
	rename(ctx, t, h)
	if ports := do(ctx, t, "ovs-vsctl list-ports br-ex | grep -v '^br-ex$'; ovs-vsctl get Bridge br-ex external_ids:bridge-uplink"); ports != "lan0\nlan0" {
		t.Errorf("the port and the uplink are called %s", ports)
	}
	h.answers(ctx, t)
	agent(ctx, t, moving) // must change nothing
	// Restore the old name for the comparison of the state.
	do(ctx, t, "rm /etc/systemd/network/05-renamed.link; sync")
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
}

// TestLeaveOfARenamedCard runs leave after eth0 was renamed at a boot, with the original profile
// bound to the name eth0. leave must print the required command before it changes the network,
// and succeed afterwards.
func TestLeaveOfARenamedCard(t *testing.T) {
	found, err := uplink.Find("static4")
	must(t, err)
	ctx, h := fresh(t, found[0])
	agent(ctx, t, moving+h.Flags)
	rename(ctx, t, h)
	refused, err := machine.Run(ctx, "hcp-node-agent leave --no-drain; exit $?")
	must(t, err)
	said := refused.Stdout + refused.Stderr
	t.Log(said)
	command := regexp.MustCompile(`nmcli connection modify \S+ connection.interface-name lan0`).FindString(said)
	if refused.ExitCode == int(report.Done) || command == "" {
		t.Fatalf("exit code %d", refused.ExitCode)
	}
	h.answers(ctx, t)
	do(ctx, t, command)
	agent(ctx, t, "leave --no-drain")
	h.Uplink = "lan0"
	if bridges := do(ctx, t, "ovs-vsctl list-br; ls /etc/NetworkManager/system-connections | grep ovs; true"); bridges != "" {
		t.Errorf("left behind: %s", bridges)
	}
	h.answers(ctx, t)
}

// TestTornDatabase boots with the files that a power cut during Open vSwitch's first start
// leaves. Open vSwitch cannot start then. The next run must fix this and complete the migration.
func TestTornDatabase(t *testing.T) {
	found, err := uplink.Find("static4")
	must(t, err)
	ctx, h := fresh(t, found[0])
	do(ctx, t, `systemctl stop openvswitch ovs-vswitchd ovsdb-server
		cd /etc/openvswitch && : >conf.db && : >system-id.conf && systemctl enable openvswitch && sync`)
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
	if state := do(ctx, t, "systemctl is-active openvswitch; true"); state == "active" {
		t.Fatal("Open vSwitch starts with an empty database: it does not need this any more")
	}
	agent(ctx, t, moving+h.Flags)
	h.keeps(ctx, t, "after the run")
	if identity := do(ctx, t, "ovs-vsctl get Open_vSwitch . external_ids:system-id"); len(identity) < 36 {
		t.Errorf("Open vSwitch calls this host %s", identity)
	}
}

// rename renames eth0 to lan0 by a reboot.
func rename(ctx context.Context, t *testing.T, h host) {
	t.Helper()
	do(ctx, t, `printf '[Match]\nPermanentMACAddress=%s\n[Link]\nName=lan0\n' "$(cat /sys/class/net/eth0/address)" >/etc/systemd/network/05-renamed.link; sync`)
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
	if cards := do(ctx, t, "ls /sys/class/net"); !strings.Contains(cards, "lan0") {
		t.Fatalf("the card was not renamed:\n%s", cards)
	}
}

// lateCard boots without the network card and plugs it in after all components have started.
func lateCard(ctx context.Context, t *testing.T, h host) {
	must(t, machine.PowerOff(ctx))
	must(t, machine.BootWithout(ctx, 0))
	must(t, machine.WaitSSH(ctx))
	time.Sleep(30 * time.Second)
	must(t, machine.InsertNIC(ctx, 0))
	must(t, h.Await(ctx, machine))
}

// missingSwitch boots without Open vSwitch: the host must use its own profile.
func missingSwitch(ctx context.Context, t *testing.T, h host) {
	do(ctx, t, "systemctl mask openvswitch ovs-vswitchd ovsdb-server; sync")
	must(t, machine.Reboot(ctx))
	must(t, h.Await(ctx, machine))
}
