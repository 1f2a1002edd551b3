// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"strings"
	"testing"
)

// sigkillExitCode is a shell's exit code for a command that was killed by SIGKILL.
const sigkillExitCode = 137

// TestAgentKilled kills the agent at the step after which only a safeguard's timer can roll back;
// THOROUGH=1 kills it between any two steps of the migration. Either a safeguard or the next run,
// whichever is first, must roll back, and the next run must complete the migration.
func TestAgentKilled(t *testing.T) {
	for _, kind := range faultKinds(t) {
		ctx, h := newHost(t, kind)
		for _, part := range migrationSteps(ctx, t, h) {
			if !isThorough() && !strings.Contains(part, criticalStep) {
				continue
			}
			t.Run(kind.Name+" "+part, func(t *testing.T) {
				ctx, h := newHost(t, kind)
				row := newRow(t, kind.Name+", agent killed "+part)
				row.change = h.probeDuring(ctx, t, func() {
					result, err := machine.Run(ctx, "mortal --at '"+part+"'"+shortTimeout+h.Flags+"; exit $?")
					must(t, err)
					if result.ExitCode != sigkillExitCode {
						t.Fatalf("mortal was not killed: %+v", result)
					}
					h.awaitRollback(ctx, t)
				}).String()
				rerunAndLeave(ctx, t, h, row)
			})
		}
	}
}

// TestLeaveKilled kills leave before it activates the NIC's own profile. The next leave must
// resume, and must not treat anything of br-ex as foreign.
func TestLeaveKilled(t *testing.T) {
	for _, kind := range faultKinds(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := newHost(t, kind)
			row := newRow(t, kind.Name+", leave killed")
			runAgent(ctx, t, migrationCommand+h.Flags)
			row.leave = h.probeDuring(ctx, t, func() {
				result, err := machine.Run(ctx, "mortal --leave --at 'to activate the original profile'; exit $?")
				must(t, err)
				if result.ExitCode != sigkillExitCode {
					t.Fatalf("mortal was not killed: %+v", result)
				}
				runAgent(ctx, t, "leave --no-drain")
			}).String()
			row.setLeft(h.checkFullState(ctx, t, "after the second leave"))
		})
	}
}
