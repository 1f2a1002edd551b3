// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestAgentInterrupted interrupts the agent where the host depends on the rollback, and with
// THOROUGH=1 also before br-ex has any settings. The agent must roll back, disarm its safeguards
// and exit with the code for this case. The next run must succeed.
func TestAgentInterrupted(t *testing.T) {
	for _, kind := range faultKinds(t) {
		parts := []string{criticalStep}
		if isThorough() {
			parts = append(parts, "activated with a copy")
		}
		for _, part := range parts {
			t.Run(kind.Name+" "+part, func(t *testing.T) {
				ctx, h := newHost(t, kind)
				row := newRow(t, kind.Name+", agent interrupted "+part)
				row.change = h.probeDuring(ctx, t, func() {
					code := runInterrupted(ctx, t, "--at '"+part+"'"+networkTimeout+h.Flags)
					if code != report.NetworkRolledBack {
						t.Errorf("exit code %d, want %d", code, report.NetworkRolledBack)
					}
				}).String()
				h.checkReachable(ctx, t)
				h.checkNoSafeguards(ctx, t)
				row.setChanged(h.checkFullState(ctx, t, "after the interruption"))
				rerunAndLeave(ctx, t, h, row)
			})
		}
	}
}

// TestLeaveInterrupted interrupts leave before it activates the NIC's own profile. leave must
// complete this part of the rollback, and the next leave the rest.
func TestLeaveInterrupted(t *testing.T) {
	for _, kind := range faultKinds(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := newHost(t, kind)
			row := newRow(t, kind.Name+", leave interrupted")
			runAgent(ctx, t, migrationCommand+h.Flags)
			row.leave = h.probeDuring(ctx, t, func() {
				code := runInterrupted(ctx, t, "--leave --at 'to activate the original profile'")
				if code != report.Interrupted {
					t.Errorf("exit code %d", code)
				}
			}).String()
			h.checkReachable(ctx, t)
			h.checkNoSafeguards(ctx, t)
			if bridges := mustRun(ctx, t, "ovs-vsctl list-br"); bridges != "" {
				t.Errorf("left behind: %s", bridges)
			}
			runAgent(ctx, t, "leave --no-drain")
			row.setLeft(h.checkFullState(ctx, t, "after the second leave"))
		})
	}
}

// runInterrupted runs mortal, which is interrupted and must exit, and returns the exit
// code.
func runInterrupted(ctx context.Context, t *testing.T, args string) report.Code {
	t.Helper()
	result, err := machine.Run(ctx, "mortal --interrupt "+args+"; exit $?")
	must(t, err)
	t.Logf("exit code %d:\n%s%s", result.ExitCode, result.Stdout, result.Stderr)
	return report.Code(result.ExitCode)
}

// checkNoSafeguards checks that no safeguard is left.
func (h host) checkNoSafeguards(ctx context.Context, t *testing.T) {
	t.Helper()
	left := mustRun(ctx, t, `systemctl list-units --plain --no-legend --no-pager 'hcp-node-agent-network-*rollback*'
		ls /var/lib/hcp-node-agent/network-migration.json /etc/systemd/system/hcp-node-agent-network-boot-rollback.service 2>/dev/null; true`)
	if left != "" {
		t.Errorf("safeguards are left:\n%s", left)
	}
}
