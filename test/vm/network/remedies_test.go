// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// outsideScript gives eth0 a static address that NetworkManager has not set, in a network without a DHCP server.
const outsideScript = `
	printf '[main]\nno-auto-default=*\n' >/etc/NetworkManager/conf.d/90-server.conf; nmcli general reload conf
	nmcli -g UUID,TYPE connection show | awk -F: '/ethernet/{print $1}' | xargs -r nmcli connection delete >/dev/null
	nmcli device set eth0 managed no`

const outsideAddresses = `
	ip address replace 192.0.2.50/24 dev eth0; ip link set eth0 up; ip route replace default via 192.0.2.1 dev eth0
	ip route replace 10.99.0.0/16 via 192.0.2.2 dev eth0`

const staticProfile = outsideScript + `
	nmcli device set eth0 managed yes
	nmcli connection add type ethernet con-name uplink ifname eth0 ipv4.method manual ipv4.addresses 192.0.2.50/24 \
	`

const upStatic = `
	nmcli -w 60 connection up uplink`

// untilDevice returns a command that waits until the state of eth0 in NetworkManager contains a text.
func untilDevice(state string) string {
	return "\ntimeout 90 sh -c \"until nmcli -g GENERAL.STATE device show eth0 | grep -q '" + state +
		"'; do sleep 0.2; done\""
}

// TestRemediesKeepTheNetwork runs each remedy about the uplink in the state that prints it. The host keeps its
// address, and can then join and reboot.
func TestRemediesKeepTheNetwork(t *testing.T) {
	for _, state := range []struct{ name, script, message string }{
		{"not managed", outsideScript + outsideAddresses, "NetworkManager does not manage the uplink eth0"},
		{
			"not managed by a file", outsideScript + `
			printf '[keyfile]\nunmanaged-devices=interface-name:eth0\n' >/etc/NetworkManager/conf.d/10-unmanaged.conf
			systemctl restart NetworkManager` + outsideAddresses, "NetworkManager does not manage the uplink eth0",
		},
		{
			"external", outsideScript + "\nnmcli device set eth0 managed yes" + untilDevice("(disconnected)") +
				outsideAddresses + untilDevice("externally"),
			"only monitored by NetworkManager",
		},
		{
			"no NetworkManager", outsideScript + outsideAddresses + `
			systemctl stop NetworkManager
			rm -r /run/NetworkManager/devices # otherwise it remembers "nmcli device set eth0 managed no"`,
			"NetworkManager is not running",
		},
		{
			"ignored IPv6", staticProfile + `ipv4.gateway 192.0.2.1 ipv6.method ignore` + upStatic + `
			ip -6 address add 2001:db8:1::50/64 dev eth0 nodad`, `does not manage (method "ignore")`,
		},
		{
			"foreign name", staticProfile + `ipv4.gateway 192.0.2.1 ipv6.method disabled connection.id ovs-if-phys0
			nmcli -w 60 connection up ovs-if-phys0`, "rename that profile",
		},
		{
			"no default route", staticProfile + `ipv6.method disabled` + upStatic, "the uplink eth0 has no default route",
		},
	} {
		t.Run(state.name, func(t *testing.T) {
			kind := uplink.Kind{
				Name: state.name, Cables: 1, Uplink: "eth0", Script: state.script,
				Lab:   lab.Setup{Services: map[int]lab.Services{0: {}}},
				Ready: "ip -4 address show eth0 | grep -q 192.0.2.50",
			}
			ctx, h := newHost(t, kind)
			migration := migrationCommand + "--bridge-interface eth0 "
			remedy, message := refusedWith(ctx, t, migration)
			if !strings.Contains(message, state.message) {
				t.Fatalf("the message is %q", message)
			}
			remedy = strings.ReplaceAll(remedy, "GATEWAY", "192.0.2.1")
			gaps := h.probeDuring(ctx, t, func() {
				output, err := machine.Output(ctx, remedy)
				must(t, err)
				t.Logf("%s\n%s", remedy, output)
				must(t, machine.Await(ctx, "! ip address show eth0 | grep -q tentative")) // else it does not answer yet
			})
			if gaps.Unanswered {
				t.Fatalf("the remedy cut the host off: %v\n%s", gaps, remedy)
			}
			const routed = "ip -4 address show eth0 | grep -q 192.0.2.50/24 && ip route show default | grep -q 192.0.2.1"
			must(t, machine.Await(ctx, routed))
			runAgent(ctx, t, migration)
			must(t, machine.Reboot(ctx))
			const bridged = "ip -4 address show br-ex | grep -q 192.0.2.50/24 && ip route show default | grep -q br-ex"
			must(t, machine.Await(ctx, bridged))
			h.checkReachable(ctx, t)
		})
	}
}

// refusedWith runs the agent, which must refuse, and returns the commands of the remedy and the message.
func refusedWith(ctx context.Context, t *testing.T, args string) (string, string) {
	t.Helper()
	result, err := machine.Run(ctx, "hcp-node-agent "+args+" --output json")
	must(t, err)
	t.Logf("hcp-node-agent %s\n%s%s", args, result.Stdout, result.Stderr)
	if result.ExitCode != int(report.Refused) {
		t.Fatalf("exit code %d", result.ExitCode)
	}
	for decoder := json.NewDecoder(strings.NewReader(result.Stdout)); ; { // events, then the result
		var document struct {
			Error  string
			Remedy struct{ Command string }
		}
		if err := decoder.Decode(&document); err != nil {
			t.Fatalf("no remedy was printed: %v", err)
		}
		if document.Error != "" {
			return document.Remedy.Command, document.Error
		}
	}
}
