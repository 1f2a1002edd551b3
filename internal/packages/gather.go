// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// Gather completes facts with the output of rpm and dnf. It queries the repositories only if
// packages must come from them. A node with all packages therefore does not need a
// reachable repository.
func Gather(ctx context.Context, from dnf.Host, table Table, f Facts) (Facts, error) {
	var err error
	if f.Installed, err = from.Installed(ctx); err != nil {
		return f, classifyError(err, nil)
	}
	if f.Repositories, err = from.Repositories(ctx); err != nil {
		return f, classifyError(err, nil)
	}
	if from.Root == "" {
		f.Programs, f.Subscription = findPrograms(table), detectSubscription(f.Repositories)
	}
	missing := Decide(table, f).Missing
	required := slices.ContainsFunc(missing, func(m Missing) bool { return m.Need == "required" })
	switch {
	case !slices.ContainsFunc(f.Repositories, func(r dnf.Repository) bool { return r.Enabled }):
		f.Queried = true // no repository to query
		return f, nil
	case len(missing) == 0 || (!required && !f.Install):
		return f, nil
	}
	if f.Available, err = from.Available(ctx, false, table.Names()...); err == nil {
		f.Hidden, err = from.Available(ctx, true, table.Names()...)
	}
	err = classifyError(err, nil)
	if err != nil && !required && ctx.Err() == nil {
		f.QueryError = err.Error()
		return f, nil
	}
	f.Queried = true
	return f, err
}

func findPrograms(table Table) []string {
	var found []string
	for _, p := range table.Packages {
		if p.Program != "" && command.Exists(p.Program) {
			found = append(found, p.Program)
		}
	}
	return found
}

// detectSubscription makes no network request, unlike subscription-manager's own status
// query. A cloud machine has repositories from its cloud.
func detectSubscription(repositories []dnf.Repository) Subscription {
	ofCloud := slices.ContainsFunc(repositories, func(r dnf.Repository) bool { return r.Enabled && strings.HasPrefix(r.ID, "rhui-") })
	if ofCloud || !command.Exists("subscription-manager") {
		return NoSubscription
	}
	if _, err := os.Stat("/etc/pki/consumer/cert.pem"); err != nil {
		return Unregistered
	}
	return Registered
}
