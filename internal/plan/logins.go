// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/logins"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckLogins returns findings about logins to this host that the plan prevents, also because the uplink is lost. On
// RHEL CoreOS, whose logins the payload was written for, and if the administrator ignores them, they do not refuse the
// join.
func (s *Session) CheckLogins(ctx context.Context, uplink *Uplink, p *Plan) []report.Finding {
	result := preflight.Result{Findings: slices.Concat(
		logins.CheckPlanned(ctx, logins.Planned{
			Host: s.Host.Files, Files: p.Files, Units: p.Units, UnitState: unitStates(ctx, s.Host.Units),
		}),
		checkUplinkFiles(p, uplink.facts), checkUplinkSettings(p, uplink.facts),
	)}
	if !s.Host.Facts.Capabilities().HasLogins || s.Run.Config.IgnoreLogins {
		result = result.WithoutRefusal()
	}
	return result.Findings
}
