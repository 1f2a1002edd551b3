// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// updateComment is the comment of the agent's updates in dnf's history. leave keeps these packages.
const updateComment = "hcp-node-agent maintenance"

// Updater updates the packages of a host with dnf, except for those that have a version lock.
type Updater struct {
	host    dnf.Host
	exclude []string // names of the packages that a join locks
}

// NewUpdater returns an Updater of a host. It also excludes the packages that a join locks if dnf's plugin
// versionlock is not installed. With the plugin, the locks of the administrator apply, too.
func NewUpdater(ctx context.Context, on dnf.Host) (*Updater, error) {
	locks, err := LockChanges(ctx, on)
	return &Updater{
		host:    on,
		exclude: lists.Map(locks, func(change ledger.Change) string { return change.Target }),
	}, err
}

// List returns the packages that Update would install.
func (u *Updater) List(ctx context.Context, log report.Log) ([]dnf.Package, error) {
	log.Wait("waiting for dnf to query the repositories for updates", "")
	list, err := u.host.Updates(ctx, u.exclude...)
	return list, classifyUpdateError(err)
}

// Download downloads the packages that Update installs.
func (u *Updater) Download(ctx context.Context, log report.Log) error {
	log.Wait("waiting for dnf to download the updates", "")
	return classifyUpdateError(u.host.DownloadUpdates(ctx, logPhases(log), u.exclude...))
}

// Update installs the updates that Download has downloaded.
func (u *Updater) Update(ctx context.Context, log report.Log) error {
	log.Wait("waiting for dnf to resolve the dependencies of the updates", "")
	return classifyUpdateError(u.host.Update(ctx, updateComment, logPhases(log), u.exclude...))
}

// LastTransaction returns the number of dnf's last transaction, or "" if there is none. dnf adds a
// transaction before it changes the first package.
func (u *Updater) LastTransaction(ctx context.Context) (string, error) {
	return u.host.LastTransaction(ctx)
}

// classifyUpdateError adds a remedy to a failure of dnf.
func classifyUpdateError(err error) error {
	const again report.Remedy = "dnf update # prints the complete output of dnf"
	var dnfErr *dnf.Error
	switch {
	case !errors.As(err, &dnfErr):
		return err
	case dnfErr.IsRepositoryUnreachable():
		return classifyError(err, nil)
	}
	// The URL of a repository can contain a password.
	return report.Fail(report.Failed, again, "%s", redact.Text(err.Error()))
}
