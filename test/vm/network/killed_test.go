//go:build vm

package network

import (
	"strings"
	"testing"
)

// killed is what a shell says of a command that died by SIGKILL.
const killed = 137

// sampled reports whether the ordinary run kills the agent at a part: where only
// the timer helps, and when all but the saving is done.
func sampled(part string) bool {
	return strings.Contains(part, delicate) || strings.Contains(part, "to be saved")
}

// TestAgentKilled kills the agent between any two parts of the move. The guards
// give the network back, or the next run does when it comes first, and makes
// the move.
func TestAgentKilled(t *testing.T) {
	for _, kind := range faulty(t) {
		ctx, h := fresh(t, kind)
		for _, part := range parts(ctx, t, h) {
			if !thorough() && !sampled(part) {
				continue
			}
			t.Run(kind.Name+" "+part, func(t *testing.T) {
				ctx, h := fresh(t, kind)
				row := newRow(t, kind.Name+", agent killed "+part)
				row.change = h.watch(ctx, t, func() {
					result, err := machine.Run(ctx, "mortal --at '"+part+"'"+quick+h.Flags+"; exit $?")
					must(t, err)
					if result.ExitCode != killed {
						t.Fatalf("mortal lived: %+v", result)
					}
					if thorough() || strings.Contains(part, delicate) {
						h.givenBack(ctx, t)
					}
				}).String()
				mended(ctx, t, h, row)
			})
		}
	}
}

// TestLeaveKilled kills a leave when it is about to bring the NIC's own profile
// up. The next leave goes on with it; nothing of br-ex is taken for somebody
// else's.
func TestLeaveKilled(t *testing.T) {
	for _, kind := range faulty(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := fresh(t, kind)
			row := newRow(t, kind.Name+", leave killed")
			agent(ctx, t, moving+h.Flags)
			row.leave = h.watch(ctx, t, func() {
				result, err := machine.Run(ctx, "mortal --leave --at 'back to its own profile'; exit $?")
				must(t, err)
				if result.ExitCode != killed {
					t.Fatalf("mortal lived: %+v", result)
				}
				agent(ctx, t, "leave --no-drain")
			}).String()
			row.left(h.untouched(ctx, t, "after the second leave"))
		})
	}
}
