//go:build vm

package network

import (
	"strings"
	"testing"
)

// killed is a shell's exit code for a command that was killed by SIGKILL.
const killed = 137

// sampled reports whether the normal test run kills the agent at this step: where only the timer
// can roll back, and where only the saving of the result is missing.
func sampled(part string) bool {
	return strings.Contains(part, delicate) || strings.Contains(part, "to be saved")
}

// TestAgentKilled kills the agent between any two steps of the migration. Either a safeguard or
// the next run, whichever is first, must roll back, and the next run must complete the migration.
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

// TestLeaveKilled kills leave before it activates the NIC's own profile. The next leave must
// resume, and must not treat anything of br-ex as foreign.
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
