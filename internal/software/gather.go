// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// Gather completes facts with the table, the versions of kubelet and CRI-O, and the output of rpm and dnf
// if the host is managed. It queries the repositories only if packages must come from them. A node with
// all packages therefore does not need a reachable repository.
func Gather(ctx context.Context, on dnf.Host, f Facts) (Facts, error) {
	var err error
	if f.Table, err = ReadTable(); err != nil {
		return f, err
	}
	if on.Root == "" {
		server := f.Versions.Server
		f.Versions = InstalledVersions(ctx)
		f.Versions.Server = server
	}
	if !f.Managed {
		return f, nil
	}
	f.DNF5 = dnf.IsDNF5()
	if f.Installed, err = on.Installed(ctx); err != nil {
		return f, classifyError(err, nil)
	}
	if f.Repositories, err = on.Repositories(ctx); err != nil {
		return f, classifyError(err, nil)
	}
	if on.Root == "" {
		f.Programs, f.Subscription = findPrograms(f.Table), detectSubscription(f.Repositories)
	}
	missing := Decide(f).Missing()
	required, _ := split(missing)
	isEnabled := func(r dnf.Repository) bool { return r.Enabled }
	switch {
	case !slices.ContainsFunc(f.Repositories, isEnabled):
		f.Queried = true // no repository to query
		return f, nil
	case len(missing) == 0 || (len(required) == 0 && !f.Install && !f.Replace):
		return f, nil
	}
	if f.Available, err = on.Available(ctx, false, f.Table.Names()...); err == nil {
		f.Hidden, err = on.Available(ctx, true, f.Table.Names()...)
	}
	err = classifyError(err, nil)
	if err != nil && len(required) == 0 && ctx.Err() == nil {
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
	ofCloud := slices.ContainsFunc(repositories, func(r dnf.Repository) bool {
		return r.Enabled && strings.HasPrefix(r.ID, "rhui-")
	})
	if ofCloud || !command.Exists("subscription-manager") {
		return NoSubscription
	}
	if _, err := os.Stat("/etc/pki/consumer/cert.pem"); err != nil {
		return Unregistered
	}
	return Registered
}
