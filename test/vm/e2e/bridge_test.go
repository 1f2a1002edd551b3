// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
	"github.com/hcp-node-agent/hcp-node-agent/test/docblocks"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// testPlannedBridge checks the plan of br-ex for a host that has not joined.
func testPlannedBridge(ctx context.Context, t *testing.T) {
	t.Helper()
	plan := runAgent(ctx, t, report.Success, "plan --user-data "+testenv.UserDataPath)
	checkContains(t, plan.Stdout, "+ br-ex (ovs-bridge, br-ex): MTU 1500, bridge-uplink=eth0",
		"+ ovs-if-phys0 (802-3-ethernet, eth0): in ovs-port-phys0",
		"+ ovs-if-br-ex (ovs-interface, br-ex): in ovs-port-br-ex, MAC ")
}

// apiEndpoint returns the API server's URL for nodes.
func apiEndpoint(t *testing.T) *url.URL {
	t.Helper()
	api, err := url.Parse(environment.ControlPlane.NodeSideServer)
	must(t, err)
	return api
}

// testUnreachableEndpoint joins with a required endpoint that is unreachable before the change of the
// network, which prevents the change.
func testUnreachableEndpoint(ctx context.Context, t *testing.T) {
	t.Helper()
	host := apiEndpoint(t).Hostname()
	refused := runAgent(ctx, t, report.Refused, joinCommand+" --verify-reach "+host+":9")
	checkContains(t, refused.Stdout, "peer "+host, "nothing was changed")
	if bridges := mustOutput(ctx, t, "ovs-vsctl list-br; ip route show default | grep -c 'dev eth0'"); bridges != "1" {
		t.Errorf("the network was changed: %s", bridges)
	}
}

// testJoinWithEndpoint joins with a required endpoint, and checks the timer that restores the network
// while the network is changed.
func testJoinWithEndpoint(ctx context.Context, t *testing.T) {
	t.Helper()
	api, timer := apiEndpoint(t), ""
	out := runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand+" --verify-reach "+api.Host,
		"waiting for br-ex to be activated with a copy", func() {
			timer = mustOutput(ctx, t, "systemctl show -P TimersMonotonic hcp-node-agent-network-rollback.timer")
		})
	t.Log(out)
	checkContains(t, out, "peer "+api.Hostname()+" is reachable", "is Ready and schedulable")
	if !strings.Contains(timer, "OnActiveUSec=5min 5s") {
		t.Errorf("the rollback timer: %s", timer)
	}
}

// testStatusOfBridge checks the output about br-ex of a joined host, and returns its state.
func testStatusOfBridge(ctx context.Context, t *testing.T) *ovs.Status {
	t.Helper()
	checkContains(t, runAgent(ctx, t, report.Success, "plan").Stdout, "no changes needed",
		"br-ex already exists with uplink eth0")
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "ports ", "eth0 (system)",
		"MTU 1500, node IP 192.0.2.", "NetworkManager profile ovs-if-br-ex is activated, in /etc/",
		"eth0 was attached to br-ex at ", "; network interruption ")
	var document status.Document
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "status --output json").Stdout), &document))
	b := document.Bridge
	if b == nil || b.Migration == nil || b.Migration.Outage == nil || b.Migration.Uplink != "eth0" || b.Profile == nil ||
		len(b.Ports) < 2 || len(b.NodeIPs) == 0 {
		t.Fatalf("status of br-ex: %+v", b)
	}
	checkContains(t, runAgent(ctx, t, report.Success, "node-ip").Stdout, " (unchanged)")
	return b
}

// testRestartOfNetworkManager checks the settings that OVN-Kubernetes reads, and that they survive a
// restart of NetworkManager.
func testRestartOfNetworkManager(ctx context.Context, t *testing.T) {
	t.Helper()
	const flowPort = "ovs-vsctl get Interface eth0 ofport" // flows of OVN refer to it
	before := mustOutput(ctx, t, flowPort)
	bridge := mustOutput(ctx, t, `systemctl restart NetworkManager && nm-online -q -t 300
		ovs-vsctl get Bridge br-ex external_ids:bridge-uplink; ovs-vsctl get Interface eth0 type
		ip route show default | grep -c 'dev br-ex'; `+flowPort)
	if bridge != "eth0\nsystem\n1\n"+before {
		t.Errorf("br-ex after a restart of NetworkManager: %s, the OpenFlow port before: %s", bridge, before)
	}
}

// testBootWithOtherAddress reboots the host, which then has another address than was, and settings in
// Open vSwitch that another component has left there.
func testBootWithOtherAddress(ctx context.Context, t *testing.T, was string) {
	t.Helper()
	const now = "192.0.2.201"
	mustOutput(ctx, t, `nmcli connection modify ovs-if-br-ex ipv4.method manual ipv4.addresses `+now+
		`/24 ipv4.gateway 192.0.2.1 ipv4.dns 192.0.2.1 &&
		ovs-vsctl set Open_vSwitch . external_ids:ovn-remote=ssl:192.0.2.99:6642`)
	must(t, environment.Machine.Reboot(ctx))
	awaitReadyNode(ctx, t)
	environmentOutput := mustOutput(ctx, t, `
		systemctl show -P Environment kubelet | grep -o 'KUBELET_NODE_IP=[^ ]*'
		systemctl show -P Environment crio | grep -o 'CONTAINER_STREAM_ADDRESS=[^ ]*'
		cat /run/nodeip-configuration/primary-ip; echo; cat /run/nodeip-configuration/ipv4; echo
		ls /run/nodeip-configuration; ovs-vsctl get Open_vSwitch . external_ids:ovn-remote
		systemctl show -P Result hcp-node-agent-node-ip; [ -e /run/configure-ovs-ran ] || echo br-ex unchanged
		journalctl -b --no-pager | grep -c "ordering cycle"; true`)
	want := "KUBELET_NODE_IP=" + now + "\nCONTAINER_STREAM_ADDRESS=" + now + "\n" + now + "\n" + now +
		"\nipv4\nprimary-ip\n\" \"\nsuccess\n" +
		"br-ex unchanged\n0"
	if environmentOutput != want {
		t.Errorf("after a boot with another address (before: %s):\n%s\nwant\n%s", was, environmentOutput, want)
	}
	order := mustOutput(ctx, t, `a=$(systemctl show -P ExecMainExitTimestampMonotonic hcp-node-agent-node-ip)
		for unit in crio kubelet; do
			[ "$a" -lt "$(systemctl show -P ExecMainStartTimestampMonotonic $unit)" ] && echo before $unit
		done`)
	if order != "before crio\nbefore kubelet" {
		t.Errorf("the units that started after the update of the address: %q", order)
	}
}

// testNodeIPWithoutTheAgent checks that kubelet starts even if the agent's binary is missing.
func testNodeIPWithoutTheAgent(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, `mv /usr/bin/hcp-node-agent /root/; systemctl stop kubelet crio hcp-node-agent-node-ip
		systemctl start hcp-node-agent-node-ip kubelet; true`)
	failed := mustOutput(ctx, t,
		"mv /root/hcp-node-agent /usr/bin/; systemctl is-failed hcp-node-agent-node-ip; systemctl is-active kubelet")
	if failed != "failed\nactive" {
		t.Errorf("without the agent's binary: %q", failed)
	}
}

// Without the cluster's own unit, the agent's unit clears ovn-remote once per boot. An
// administrator at the console can remove br-ex without the agent.
func TestBridgeWithoutTheClustersUnit(t *testing.T) {
	ctx := newContext(t)
	before := hostState(ctx, t)
	checkContains(t, runAgent(ctx, t, report.Success,
		joinCommand+" --until kubelet --payload-drop ovs-configuration.service").Stdout, "the ignition server is reachable")
	cleared := mustOutput(ctx, t, `set=external_ids:ovn-remote; unit=hcp-node-agent-ovn-remote.service
		systemctl is-enabled $unit; systemctl is-active $unit
		ovs-vsctl set Open_vSwitch . $set=ssl:a; systemctl start $unit; ovs-vsctl get Open_vSwitch . $set
		ovs-vsctl set Open_vSwitch . $set=ssl:b; systemctl start $unit; ovs-vsctl get Open_vSwitch . $set
		ovs-vsctl remove Open_vSwitch . external_ids ovn-remote`)
	if cleared != "enabled\ninactive\n\" \"\n\"ssl:b\"" {
		t.Errorf("the unit that clears ovn-remote: %q", cleared)
	}

	// Run the console commands of the document unchanged.
	blocks, err := docblocks.Of("../../..", "docs/br-ex.md", docblocks.Shell)
	must(t, err)
	script := slices.IndexFunc(blocks, func(block docblocks.Block) bool {
		return strings.Contains(block.Text, "del-br br-ex")
	})
	if script < 0 {
		t.Fatal("docs/br-ex.md contains no script")
	}
	must(t, environment.Machine.Put(ctx, "/root/by-hand.sh", strings.NewReader(blocks[script].Text), 0o700))
	after := mustOutput(ctx, t, `sh /root/by-hand.sh >&2; ovs-vsctl list-br; ip -4 route show default | grep -o 'dev [^ ]*'
		nmcli -g NAME,DEVICE connection show --active | grep eth0; rm /root/by-hand.sh`)
	if after != "dev eth0\nWired connection 1:eth0" {
		t.Errorf("after the manual removal of br-ex: %q", after)
	}
	runAgent(ctx, t, report.Success, "leave --no-drain")
	checkHostState(ctx, t, before)
}
