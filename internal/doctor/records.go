// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// leftoverFacts describes what an interrupted run left behind.
type leftoverFacts struct {
	Uplink    string // uplink of an unfinished migration to br-ex
	Migrating bool
	Changes   []ledger.Item // started, but not recorded as complete
}

func inspectLeftovers(_ context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.busy {
		return nil, nil // another run is making these changes
	}
	var facts leftoverFacts
	var err error
	if facts.Uplink, facts.Migrating, err = migrate.UnfinishedMigration(d.Tree, d.Dir); err != nil {
		return nil, err
	}
	if d.Ledger != nil {
		facts.Changes = d.Ledger.Unfinished()
	}
	return facts.evaluate(), d.ledgerErr
}

func (f leftoverFacts) evaluate() []report.Finding {
	var findings []report.Finding
	if f.Migrating {
		findings = append(findings, problem("hcp-node-agent join # rolls back the migration, then resumes the join",
			"the migration of %s to br-ex was interrupted; it is rolled back at the next boot", f.Uplink))
	}
	if len(f.Changes) > 0 {
		targets := make([]string, 0, len(f.Changes))
		for _, item := range f.Changes {
			targets = append(targets, item.Target)
		}
		findings = append(findings, warning(
			"hcp-node-agent join # completes the changes; hcp-node-agent leave reverts all changes",
			"a run was interrupted during %d changes of step %s: %s",
			len(f.Changes), f.Changes[len(f.Changes)-1].Step, report.AbbreviateList(targets)))
	}
	return findings
}

// driftFacts describes how the host differs from the state that the join created.
type driftFacts struct {
	Drift   []ledger.Difference
	Changes int  // changes in the ledger
	Partial bool // some of them could not be inspected
}

func inspectDrift(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.Ledger == nil || d.busy || d.phase() == joinstate.PhaseLeaving {
		return nil, nil
	}
	drift, err := d.Ledger.Drift(ctx)
	return driftFacts{drift, len(d.Ledger.Items()), err != nil}.evaluate(), err
}

func (f driftFacts) evaluate() []report.Finding {
	var changed []string
	for _, one := range f.Drift {
		if !reportedByUnits(one) {
			changed = append(changed, fmt.Sprintf("%s %s (current: %s)", one.Kind, one.Target, one.Now))
		}
	}
	switch {
	case len(changed) > 0:
		return []report.Finding{warning(
			"hcp-node-agent join # restores the joined state; to list all drift: hcp-node-agent status",
			"drift: %d of %d items differ: %s", len(changed), f.Changes, report.AbbreviateList(changed))}
	case len(f.Drift) == 0 && f.Changes > 0 && !f.Partial:
		return []report.Finding{passed("no drift (recorded changes: %d)", f.Changes)}
	}
	return nil
}

// reportedByUnits reports whether the only difference is that a service of the node
// does not run, which the units section reports.
func reportedByUnits(d ledger.Difference) bool {
	isNodeUnit := slices.ContainsFunc(nodeUnits(), func(u nodeUnit) bool { return u.name == d.Target })
	change := d.Change
	change.Desired.Active = ""
	return d.Kind == ledger.Unit && isNodeUnit && change.Matches(d.Now)
}
