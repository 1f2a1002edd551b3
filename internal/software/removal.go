// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Removal contains the packages that the agent has installed and that are still installed.
type Removal struct {
	Remove []dnf.Package
	Kept   []string // packages with the reason why they are kept
}

// FirstTransaction returns the last transaction of dnf before the agent installed packages. It reports
// false if the agent has installed none.
func FirstTransaction(items []ledger.Item) (after string, found bool) {
	first := lists.Find(items, func(item ledger.Item) bool { return item.Kind == TransactionKind })
	return first.Before.Value, first.Kind != ""
}

// FindRemoval returns the packages that the agent installed after a transaction of dnf. It keeps
// packages that others require. isNeeded returns why a package must be kept otherwise, or "".
//
// "dnf history undo" of the recorded transactions is no substitute. It removes a package that the
// administrator has removed and installed again. It keeps a package that was updated since, or fails
// without repositories. It fails as a whole if another package requires one of the packages, and it
// would downgrade what an upgrade has replaced.
func FindRemoval(ctx context.Context, on dnf.Host, after string, isNeeded func(name string) string) (Removal, error) {
	var removal Removal
	transactions, err := on.Transactions(ctx, after)
	if err != nil {
		return removal, err
	}
	installed, err := on.Installed(ctx)
	if err != nil {
		return removal, err
	}
	for _, p := range installedByAgent(transactions, installed) {
		if why := isNeeded(p.Name); why != "" {
			removal.Kept = append(removal.Kept, p.Name+": "+why)
		} else {
			removal.Remove = append(removal.Remove, p)
		}
	}
	return removal, removal.keepRequired(ctx, on)
}

// installedByAgent returns the installed packages that transactions of the agent installed and that
// no other transaction removed meanwhile.
func installedByAgent(transactions []dnf.Transaction, installed []dnf.Package) []dnf.Package {
	type key struct{ name, arch string }
	added := map[key]bool{}
	for _, transaction := range transactions {
		for _, p := range transaction.Removed {
			delete(added, key{p.Name, p.Arch})
		}
		for _, p := range transaction.Installed {
			added[key{p.Name, p.Arch}] = transaction.Comment == historyComment
		}
	}
	return slices.DeleteFunc(slices.Clone(installed), func(p dnf.Package) bool { return !added[key{p.Name, p.Arch}] })
}

// keepRequired moves the packages that a package outside of the removal requires from Remove to Kept.
func (r *Removal) keepRequired(ctx context.Context, on dnf.Host) error {
	others := func(of ...dnf.Package) ([]dnf.Package, error) {
		list, err := on.Requirers(ctx, of...)
		return slices.DeleteFunc(list, func(p dnf.Package) bool { return slices.Contains(r.Remove, p) }), err
	}
	for len(r.Remove) > 0 {
		requirers, err := others(r.Remove...)
		if err != nil || len(requirers) == 0 {
			return err
		}
		var remaining []dnf.Package
		for _, p := range r.Remove {
			if requirers, err = others(p); err != nil {
				return err
			}
			if len(requirers) == 0 {
				remaining = append(remaining, p)
				continue
			}
			r.Kept = append(r.Kept, p.Name+": "+requirers[0].Name+" requires it")
		}
		r.Remove = remaining
	}
	return nil
}

// Uninstall removes the packages with dnf and reports its progress to log.
func (r Removal) Uninstall(ctx context.Context, on dnf.Host, log report.Log) error {
	if len(r.Remove) == 0 {
		return nil
	}
	log.Wait("waiting for dnf to remove the packages that the agent installed", "")
	err := on.Remove(ctx, "hcp-node-agent leave", nil, r.Remove...)
	var failed *dnf.Error
	if errors.As(err, &failed) {
		return report.Fail(report.Failed, report.Remedyf("dnf remove %s", strings.Join(r.Names(), " ")),
			"%s", redact.Text(err.Error()))
	}
	return err
}

// Names returns the names of the packages to remove.
func (r Removal) Names() []string {
	return lists.Map(r.Remove, func(p dnf.Package) string { return p.Name })
}
