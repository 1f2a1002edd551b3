//go:build vm

package network

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestGatewaySilent drops all packets of the gateway as soon as the NIC is attached. The agent
// must roll back, although this does not help, and the peer must reach the host.
func TestGatewaySilent(t *testing.T) {
	for _, kind := range faulty(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := fresh(t, kind)
			row := newRow(t, kind.Name+", gateway silent")
			row.change = h.watch(ctx, t, func() {
				code := during(ctx, t, h, "to be plugged into", func() {
					for vlan := range kind.Lab.Services {
						must(t, around.DropGateway(ctx, vlan))
					}
				})
				if code != report.NetworkRolledBack {
					t.Errorf("exit code %d, want %d", code, report.NetworkRolledBack)
				}
				h.answers(ctx, t) // the peer is not the gateway
				h.held(ctx, t)
				must(t, around.Heal(ctx))
			}).String()
			h.letGo(ctx, t, row)
		})
	}
}

// TestDHCPSilent stops the DHCP server before the host requests a lease on br-ex. The host must
// keep its addresses, also during the rollback.
func TestDHCPSilent(t *testing.T) {
	for _, kind := range faulty(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := fresh(t, kind)
			row := newRow(t, kind.Name+", DHCP server gone")
			row.change = h.watch(ctx, t, func() {
				code := during(ctx, t, h, "to be plugged into", func() {
					for vlan := range kind.Lab.Services {
						around.StopServices(vlan)
					}
				})
				if code != report.NetworkRolledBack {
					t.Errorf("exit code %d, want %d", code, report.NetworkRolledBack)
				}
				h.answers(ctx, t)
				h.held(ctx, t)
				for vlan := range kind.Lab.Services {
					must(t, around.StartServices(ctx, vlan))
				}
			}).String()
			h.letGo(ctx, t, row)
		})
	}
}

// held checks that the host keeps its network while no DHCP server responds, and that the next
// run reports what it waits for. A default route that the agent sets has no source address.
func (h host) held(ctx context.Context, t *testing.T) {
	t.Helper()
	now, err := h.State(ctx, machine)
	must(t, err)
	if diff := cmp.Diff(withoutSource(h.state), withoutSource(now)); diff != "" {
		t.Errorf("without DHCP the network is not as it was (-before +now):\n%s", diff)
	}
	result, err := machine.Run(ctx, "hcp-node-agent "+moving+h.Flags)
	must(t, err)
	if result.ExitCode != int(report.Refused) || !strings.Contains(result.Stdout, h.remedy()) {
		t.Errorf("the next run ends with %d:\n%s", result.ExitCode, result.Stdout)
	}
}

// remedy returns the command that the agent prints for the time when DHCP responds again.
func (h host) remedy() string { return "nmcli device reapply " + h.Uplink }

func withoutSource(state []string) []string {
	source := regexp.MustCompile(`^(route .*default .*) src [^ ]+`)
	lines := make([]string, 0, len(state))
	for _, line := range state {
		lines = append(lines, source.ReplaceAllString(line, "$1"))
	}
	return lines
}

// letGo runs the printed command. The host must be as before, and the migration must succeed.
func (h host) letGo(ctx context.Context, t *testing.T, row *row) {
	t.Helper()
	_, err := machine.Output(ctx, h.remedy())
	must(t, err)
	must(t, h.Await(ctx, machine))
	row.changed(h.untouched(ctx, t, "after the way back"))
	mended(ctx, t, h, row)
}
