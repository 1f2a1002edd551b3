//go:build vm

package network

import (
	"testing"
)

// TestUplinks attaches each kind of uplink to br-ex, reboots, and reverts the change.
func TestUplinks(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			row := newRow(t, kind.Name)
			ctx, h := fresh(t, kind)
			row.change = h.watch(ctx, t, func() { agent(ctx, t, moving+kind.Flags) }).String()
			if !row.changed(h.keeps(ctx, t, "after the move")) {
				t.Log("what follows may follow from this")
			}
			must(t, machine.Reboot(ctx))
			must(t, kind.Await(ctx, machine))
			row.rebooted(h.keeps(ctx, t, "after a reboot"))
			row.leave = h.watch(ctx, t, func() { agent(ctx, t, "leave --no-drain") }).String()
			row.left(h.untouched(ctx, t, "after leave"))
		})
	}
}
