// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestGatewaySilent drops all packets of the gateway as soon as the NIC is attached. The agent
// must roll back, although this does not help, and the peer must reach the host.
func TestGatewaySilent(t *testing.T) {
	for _, kind := range faultKinds(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := newHost(t, kind)
			row := newRow(t, kind.Name+", gateway silent")
			row.change = h.probeDuring(ctx, t, func() {
				code := runDuring(ctx, t, h, "to be attached to", func() {
					for vlan := range kind.Lab.Services {
						must(t, testLab.DropGateway(ctx, vlan))
					}
				})
				if code != report.NetworkRolledBack {
					t.Errorf("exit code %d, want %d", code, report.NetworkRolledBack)
				}
				h.checkReachable(ctx, t) // the peer is not the gateway
				h.checkKeptWithoutDHCP(ctx, t)
				must(t, testLab.RemoveFaults(ctx))
			}).String()
			h.followRemedy(ctx, t, row)
		})
	}
}

// TestDHCPServerUnreachable stops the DHCP server before the host requests a lease on br-ex. The host must
// keep its addresses, also during the rollback.
func TestDHCPServerUnreachable(t *testing.T) {
	for _, kind := range faultKinds(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := newHost(t, kind)
			row := newRow(t, kind.Name+", DHCP server gone")
			row.change = h.probeDuring(ctx, t, func() {
				code := runDuring(ctx, t, h, "to be attached to", func() {
					for vlan := range kind.Lab.Services {
						testLab.StopServices(vlan)
					}
				})
				if code != report.NetworkRolledBack {
					t.Errorf("exit code %d, want %d", code, report.NetworkRolledBack)
				}
				h.checkReachable(ctx, t)
				h.checkKeptWithoutDHCP(ctx, t)
				for vlan := range kind.Lab.Services {
					must(t, testLab.StartServices(ctx, vlan))
				}
			}).String()
			h.followRemedy(ctx, t, row)
		})
	}
}

// checkKeptWithoutDHCP checks that the host keeps its network while no DHCP server responds, and that the next
// run reports what it waits for. A default route that the agent sets has no source address.
func (h host) checkKeptWithoutDHCP(ctx context.Context, t *testing.T) {
	t.Helper()
	now, err := h.State(ctx, machine)
	must(t, err)
	if diff := cmp.Diff(withoutSource(h.state), withoutSource(now)); diff != "" {
		t.Errorf("without DHCP the network has changed (-before +now):\n%s", diff)
	}
	result, err := machine.Run(ctx, "hcp-node-agent "+migrationCommand+h.Flags)
	must(t, err)
	if result.ExitCode != int(report.Refused) || !strings.Contains(result.Stdout, h.remedy()) {
		t.Errorf("exit code of the next run: %d\n%s", result.ExitCode, result.Stdout)
	}
}

// remedy returns the command that the agent prints for the time when DHCP responds again. It fails before.
func (h host) remedy() string { return ovs.ReapplyWithLease(h.Uplink).Command() }

func withoutSource(state []string) []string {
	source := regexp.MustCompile(`^(route .*default .*) src [^ ]+`)
	lines := make([]string, 0, len(state))
	for _, line := range state {
		lines = append(lines, source.ReplaceAllString(line, "$1"))
	}
	return lines
}

// followRemedy runs the printed command. The host must be as before, and the migration must succeed.
func (h host) followRemedy(ctx context.Context, t *testing.T, row *resultRow) {
	t.Helper()
	must(t, machine.Await(ctx, h.remedy()))
	must(t, h.Await(ctx, machine))
	row.setChanged(h.checkFullState(ctx, t, "after the remedy"))
	rerunAndLeave(ctx, t, h, row)
}
