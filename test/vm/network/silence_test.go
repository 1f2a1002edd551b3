//go:build vm

package network

import (
	"testing"

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
				must(t, around.Heal(ctx))
			}).String()
			row.changed(h.untouched(ctx, t, "after the way back"))
			mended(ctx, t, h, row)
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
			}).String()
			row.changed(h.keeps(ctx, t, "after the move was given up"))
			for vlan := range kind.Lab.Services {
				must(t, around.StartServices(ctx, vlan))
			}
			mended(ctx, t, h, row)
		})
	}
}
