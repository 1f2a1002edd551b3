// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import "testing"

// TestKinds configures each kind of uplink without running the agent. The peer must reach the
// machine, and the state must be stable, so that the other tests observe only the agent's
// changes.
func TestKinds(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := newHost(t, kind)
			h.checkReachable(ctx, t)
			h.checkState(ctx, t, "a little later")
			h.checkFullState(ctx, t, "a little later")
			for _, line := range h.state {
				t.Log(line)
			}
		})
	}
}
