// SPDX-License-Identifier: Apache-2.0

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
			ctx, h := newHost(t, kind)
			row.change = h.probeDuring(ctx, t, func() { runAgent(ctx, t, migrationCommand+kind.Flags) }).String()
			if !row.setChanged(h.checkState(ctx, t, "after the migration")) {
				t.Log("later failures may be consequences")
			}
			must(t, machine.Reboot(ctx))
			must(t, kind.Await(ctx, machine))
			row.setRebooted(h.checkState(ctx, t, "after a reboot"))
			row.leave = h.probeDuring(ctx, t, func() { runAgent(ctx, t, "leave --no-drain") }).String()
			row.setLeft(h.checkFullState(ctx, t, "after leave"))
		})
	}
}
