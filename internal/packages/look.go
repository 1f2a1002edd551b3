package packages

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// Look completes facts with what rpm and dnf say. A host that has all it needs
// asks no repository.
func Look(ctx context.Context, from dnf.Host, table Table, f Facts) (Facts, error) {
	var err error
	if f.Installed, err = from.Installed(ctx); err != nil {
		return f, explain(err, nil)
	}
	if f.Repositories, err = from.Repositories(ctx); err != nil {
		return f, explain(err, nil)
	}
	if from.Root == "" {
		f.Programs, f.Subscription = lookPrograms(table), lookSubscription(ctx)
	}
	if len(Decide(table, f).Missing) == 0 || !anyEnabled(f.Repositories) {
		return f, nil
	}
	if f.Available, err = from.Available(ctx, false, table.Names()...); err != nil {
		return f, explain(err, nil)
	}
	f.Hidden, err = from.Available(ctx, true, table.Names()...)
	return f, explain(err, nil)
}

func lookPrograms(table Table) []string {
	var found []string
	for _, p := range table.Packages {
		if p.Program != "" && host.HasProgram(p.Program) {
			found = append(found, p.Program)
		}
	}
	return found
}

func lookSubscription(ctx context.Context) Subscription {
	if !host.HasProgram("subscription-manager") {
		return NoSubscription
	}
	if _, err := host.Run(ctx, "subscription-manager", "identity"); err != nil {
		return Unregistered
	}
	return Registered
}

func anyEnabled(repositories []dnf.Repository) bool {
	for _, r := range repositories {
		if r.Enabled {
			return true
		}
	}
	return false
}
