// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func inspectLeftovers(_ context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.busy {
		return nil, nil // another run is making these changes
	}
	uplink, migrating, err := migrate.UnfinishedMigration(d.host.Files, d.run.Dir)
	if err != nil {
		return nil, err
	}
	var changes []ledger.Item
	if d.host.Ledger != nil {
		changes = d.host.Ledger.Unfinished()
	}
	return leftoverFindings(uplink, migrating, changes), d.host.LedgerErr
}

// leftoverFindings returns the findings about the unfinished migration of an uplink to br-ex, and about changes that
// are started, but not recorded as complete.
func leftoverFindings(uplink string, migrating bool, changes []ledger.Item) []report.Finding {
	var findings []report.Finding
	if migrating {
		findings = append(findings, problem("hcp-node-agent join # rolls back the migration, then resumes the join",
			"the migration of %s to br-ex was interrupted; it is rolled back at the next boot", uplink))
	}
	if len(changes) > 0 {
		targets := make([]string, 0, len(changes))
		for _, item := range changes {
			targets = append(targets, item.Target)
		}
		findings = append(findings, warning(
			"hcp-node-agent join # completes the changes; hcp-node-agent leave reverts all changes",
			"a run was interrupted during %d changes of step %s: %s",
			len(changes), changes[len(changes)-1].Step, report.AbbreviateList(targets)))
	}
	return findings
}

func inspectDrift(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.host.Ledger == nil || d.busy || d.phase() == joinstate.PhaseLeaving {
		return nil, nil
	}
	drift, err := d.host.Ledger.Drift(ctx)
	return driftFindings(drift, len(d.host.Ledger.Items()), err != nil), err
}

// driftFindings returns a finding about the drift of a ledger with a number of changes. isPartial means that some of
// them could not be inspected.
func driftFindings(drift []ledger.Difference, changes int, isPartial bool) []report.Finding {
	var changed []string
	for _, one := range drift {
		if !reportedByUnits(one) {
			changed = append(changed, fmt.Sprintf("%s %s (current: %s)", one.Kind, one.Target, one.Now))
		}
	}
	switch {
	case len(changed) > 0:
		found := warning("hcp-node-agent join # restores the joined state; to list all drift: hcp-node-agent status",
			"drift: %d of %d items differ: %s", len(changed), changes, report.AbbreviateList(changed))
		if slices.ContainsFunc(drift, func(one ledger.Difference) bool { return serviceFile.MatchString(one.Target) }) {
			found.Reason = driftOfServices
		}
		return []report.Finding{found}
	case len(drift) == 0 && changes > 0 && !isPartial:
		return []report.Finding{passed("no drift (recorded changes: %d)", changes)}
	}
	return nil
}

// serviceFile matches the files with which kubelet and CRI-O start.
var serviceFile = regexp.MustCompile(
	`^/etc/(kubernetes/|crio/|containers/(policy\.json|registries|storage)|systemd/system/(kubelet|crio)\.service)`)

// reportedByUnits reports whether the only difference is that a service of the node
// does not run, which the units section reports.
func reportedByUnits(d ledger.Difference) bool {
	isNodeUnit := slices.ContainsFunc(units(), func(u unit) bool { return u.step != "" && u.name == d.Target })
	change := d.Change
	change.Desired.Active = ""
	return d.Kind == ledger.Unit && isNodeUnit && change.Matches(d.Now)
}
