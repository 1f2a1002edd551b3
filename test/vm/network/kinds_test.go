//go:build vm

package network

import "testing"

// TestKinds makes the machine each kind of host in turn, and does nothing: the
// peer reaches it, and its state does not change by itself. What the other
// tests see is then the agent's doing.
func TestKinds(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := fresh(t, kind)
			h.answers(ctx, t)
			h.keeps(ctx, t, "a little later")
			h.untouched(ctx, t, "a little later")
			for _, line := range h.state {
				t.Log(line)
			}
		})
	}
}
