// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestServiceStopped kills NetworkManager or stops Open vSwitch at each step of the migration.
// Either the migration succeeds, or the agent rolls back and reports it.
func TestServiceStopped(t *testing.T) {
	for _, fault := range []struct{ name, command string }{
		{"NetworkManager killed", "systemctl kill -s KILL NetworkManager"},
		{"Open vSwitch stopped", "systemctl stop openvswitch ovs-vswitchd ovsdb-server"},
	} {
		for _, kind := range faultKinds(t) {
			ctx, h := newHost(t, kind)
			for _, part := range migrationSteps(ctx, t, h) {
				if !isThorough() && !strings.Contains(part, criticalStep) {
					continue
				}
				t.Run(kind.Name+", "+fault.name+", "+part, func(t *testing.T) {
					ctx, h := newHost(t, kind)
					row := newRow(t, kind.Name+", "+fault.name+" "+part)
					var code report.Code
					row.change = h.probeDuring(ctx, t, func() {
						code = runDuring(ctx, t, h, part, func() {
							if _, err := machine.Output(ctx, fault.command); err != nil {
								t.Error(err)
							}
						})
						if code != report.Success {
							h.awaitRollback(ctx, t)
						}
					}).String()
					if code == report.Success {
						row.setChanged(h.checkState(ctx, t, "after the migration"))
					}
					rerunAndLeave(ctx, t, h, row)
				})
			}
		}
	}
}

// rerunAndLeave runs the agent again, which must succeed, and then leave.
func rerunAndLeave(ctx context.Context, t *testing.T, h host, row *resultRow) {
	t.Helper()
	runAgent(ctx, t, migrationCommand+h.Flags)
	row.setChanged(h.checkState(ctx, t, "after the next run"))
	runAgent(ctx, t, "leave --no-drain")
	row.setLeft(h.checkFullState(ctx, t, "after leave"))
}
