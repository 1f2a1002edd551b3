// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/othercluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// KeptItem is an object that a leave keeps. Its step is empty if the agent did not join the host.
type KeptItem = ledger.PublishedDifference

// checkNotForeign fails if kubelet runs although nothing is recorded: the agent must not stop a node of others.
func checkNotForeign(state joinstate.State, items []ledger.Item, unit systemd.UnitState) error {
	isRunning := unit.Load == "loaded" && unit.Active != "inactive" && unit.Active != "failed"
	if state.Exists() || len(items) > 0 || !isRunning {
		return nil
	}
	return report.Fail(report.Refused, "hcp-node-agent join --adopt --user-data USER_DATA # records the node, which can "+
		"leave afterwards", "kubelet runs on this host, and no join of it is recorded")
}

// discardAdoption removes the records of an unfinished adoption, which has changed nothing on the host.
func discardAdoption(m *machine.Machine, dir string, log report.Log) error {
	if err := m.Ledger.Forget(); err != nil {
		return err
	}
	log.Note("the join with --adopt had not finished: only its records are removed, and the host remains a node")
	return m.RemoveRecords(dir)
}

// adoptedKept returns the objects of an adopted host that a leave keeps.
func adoptedKept(record *joinstate.AdoptionRecord) []ledger.PublishedDifference {
	return lists.Map(record.Kept, func(kept joinstate.KeptObject) ledger.PublishedDifference {
		return ledger.PublishedDifference{
			Kind: kept.Kind, Target: kept.Target, Reason: kept.Reason, Remedy: kept.Remedy(),
			Now: ledger.State{Present: true},
		}
	})
}

// clusterFiles returns the files of the cluster on an adopted host, without those that the leave keeps, or that an undo
// has removed or kept. It returns none on a host whose files belong to Ignition.
func (f *Flow) clusterFiles(ctx context.Context, kept []ledger.PublishedDifference) ([]othercluster.Leftover, error) {
	if f.Machine.Facts.Capabilities().OwnsPayload {
		return nil, nil
	}
	found, err := othercluster.Find(ctx, f.Machine.Tree, othercluster.PackageOwners())
	return slices.DeleteFunc(found, func(l othercluster.Leftover) bool {
		isKept := func(k ledger.PublishedDifference) bool { return k.Target == l.Path }
		return f.Machine.Ledger.HasCreated(l.Path) || slices.ContainsFunc(kept, isKept)
	}), err
}

// removeClusterFiles returns the step that removes the files of the cluster on an adopted host, whose ledger has only
// those of the payload, and lists what is kept.
func removeClusterFiles(document *Document) func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
	return func(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
		kept := adoptedKept(f.Adoption)
		found, err := f.clusterFiles(ctx, slices.Concat(document.Kept, kept))
		if err != nil {
			return steps.Outcome{}, withResumeHint(ctx, err)
		}
		document.Kept = append(document.Kept, kept...)
		if len(kept) > 0 {
			log.Note(keptText(kept))
		}
		if err := othercluster.Check(f.Machine.Tree, found); err != nil {
			log.Warn("files of the cluster are kept: "+err.Error(), report.RemedyOf(err))
			document.NotRestored = append(document.NotRestored, "files of the cluster are kept: "+err.Error())
			return steps.Unchanged("no files of the cluster were removed")
		}
		removed, err := othercluster.Remove(f.Machine.Tree, found)
		document.Removed = append(document.Removed, removed...)
		if err != nil {
			return steps.Outcome{}, withResumeHint(ctx, err)
		}
		if len(removed) == 0 {
			return steps.Unchanged("no other files of the cluster")
		}
		return steps.Changed("removed %s", report.AbbreviateList(removed))
	}
}

// keptText returns a message about the objects that a leave of an adopted host keeps.
func keptText(kept []ledger.PublishedDifference) string {
	return "kept, because the agent did not join this host: " + report.AbbreviateList(
		lists.Map(kept, func(k ledger.PublishedDifference) string { return string(k.Kind) + " " + k.Target }))
}
