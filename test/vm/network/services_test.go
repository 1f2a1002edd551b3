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
		for _, kind := range faulty(t) {
			ctx, h := fresh(t, kind)
			for _, part := range parts(ctx, t, h) {
				if !thorough() && !strings.Contains(part, delicate) {
					continue
				}
				t.Run(kind.Name+", "+fault.name+", "+part, func(t *testing.T) {
					ctx, h := fresh(t, kind)
					row := newRow(t, kind.Name+", "+fault.name+" "+part)
					var code report.Code
					row.change = h.watch(ctx, t, func() {
						code = during(ctx, t, h, part, func() {
							if _, err := machine.Output(ctx, fault.command); err != nil {
								t.Error(err)
							}
						})
						if code != report.Done {
							h.givenBack(ctx, t)
						}
					}).String()
					if code == report.Done {
						row.changed(h.keeps(ctx, t, "after the move"))
					}
					mended(ctx, t, h, row)
				})
			}
		}
	}
}

// mended runs the agent again, which must succeed, and then leave.
func mended(ctx context.Context, t *testing.T, h host, row *row) {
	t.Helper()
	agent(ctx, t, moving+h.Flags)
	row.changed(h.keeps(ctx, t, "after the next run"))
	agent(ctx, t, "leave --no-drain")
	row.left(h.untouched(ctx, t, "after leave"))
}
