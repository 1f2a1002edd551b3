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

// TestGatewaySilent loses all that the gateway sends from the moment on at
// which the NIC is plugged in. The host takes back what it had, although that
// does not help either, and the peer can reach it.
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
				h.answers(ctx, t) // the peer is no gateway
				h.held(ctx, t)
				must(t, around.Heal(ctx))
			}).String()
			h.letGo(ctx, t, row)
		})
	}
}

// TestDHCPSilent stops the DHCP server before the host asks for a lease on
// br-ex. It keeps its addresses, over the return too.
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

// held checks that the host has what it had while nobody tells it its address,
// and that the next run says what it waits for. A default route that is set by
// hand names no source.
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

// remedy is what the agent tells to do once DHCP answers again.
func (h host) remedy() string { return "nmcli device reapply " + h.Uplink }

func withoutSource(state []string) []string {
	source := regexp.MustCompile(`^(route .*default .*) src [^ ]+`)
	lines := make([]string, 0, len(state))
	for _, line := range state {
		lines = append(lines, source.ReplaceAllString(line, "$1"))
	}
	return lines
}

// letGo does what the agent has told to do; then the host is as it was, and can
// be moved.
func (h host) letGo(ctx context.Context, t *testing.T, row *row) {
	t.Helper()
	_, err := machine.Output(ctx, h.remedy())
	must(t, err)
	must(t, h.Await(ctx, machine))
	row.changed(h.untouched(ctx, t, "after the way back"))
	mended(ctx, t, h, row)
}
