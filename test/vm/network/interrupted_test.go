//go:build vm

package network

import (
	"context"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// interrupt makes mortal interrupt itself, as with Ctrl-C. The announced step begins after the
// signal has arrived.
const interrupt = " --run 'kill -INT $PPID; sleep 0.3' "

// TestAgentInterrupted interrupts the agent where the host depends on the rollback, and with
// THOROUGH=1 also before br-ex has any settings. The agent must roll back, disarm its safeguards
// and exit with the code for this case. The next run must succeed.
func TestAgentInterrupted(t *testing.T) {
	for _, kind := range faulty(t) {
		parts := []string{delicate}
		if thorough() {
			parts = append(parts, "come up with a copy")
		}
		for _, part := range parts {
			t.Run(kind.Name+" "+part, func(t *testing.T) {
				ctx, h := fresh(t, kind)
				row := newRow(t, kind.Name+", agent interrupted "+part)
				row.change = h.watch(ctx, t, func() {
					if code := interrupted(ctx, t, "--at '"+part+"'"+interrupt+quick+h.Flags); code != report.NetworkRolledBack {
						t.Errorf("exit code %d, want %d", code, report.NetworkRolledBack)
					}
				}).String()
				h.answers(ctx, t)
				h.unguarded(ctx, t)
				row.changed(h.untouched(ctx, t, "after the interruption"))
				mended(ctx, t, h, row)
			})
		}
	}
}

// TestLeaveInterrupted interrupts leave before it activates the NIC's own profile. leave must
// complete this part of the rollback, and the next leave the rest.
func TestLeaveInterrupted(t *testing.T) {
	for _, kind := range faulty(t) {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, h := fresh(t, kind)
			row := newRow(t, kind.Name+", leave interrupted")
			agent(ctx, t, moving+h.Flags)
			row.leave = h.watch(ctx, t, func() {
				if code := interrupted(ctx, t, "--leave --at 'back to its own profile'"+interrupt); code != report.Interrupted {
					t.Errorf("exit code %d", code)
				}
			}).String()
			h.answers(ctx, t)
			h.unguarded(ctx, t)
			if bridges := do(ctx, t, "ovs-vsctl list-br"); bridges != "" {
				t.Errorf("left behind: %s", bridges)
			}
			agent(ctx, t, "leave --no-drain")
			row.left(h.untouched(ctx, t, "after the second leave"))
		})
	}
}

// interrupted runs mortal, which is interrupted and must exit by itself, and returns the exit
// code.
func interrupted(ctx context.Context, t *testing.T, args string) report.Code {
	t.Helper()
	result, err := machine.Run(ctx, "mortal "+args+"; exit $?")
	must(t, err)
	t.Logf("exit code %d:\n%s%s", result.ExitCode, result.Stdout, result.Stderr)
	if strings.Contains(result.Stdout, "\nrun\t") {
		t.Error("it could not be interrupted")
	}
	return report.Code(result.ExitCode)
}

// unguarded checks that no safeguard is left.
func (h host) unguarded(ctx context.Context, t *testing.T) {
	t.Helper()
	left := do(ctx, t, `systemctl list-units --plain --no-legend --no-pager 'hcp-node-agent-network-*guard*'
		ls /var/lib/hcp-node-agent/network-move.json /etc/systemd/system/hcp-node-agent-network-boot-guard.service 2>/dev/null; true`)
	if left != "" {
		t.Errorf("guards are left:\n%s", left)
	}
}
