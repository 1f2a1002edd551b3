// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
)

// openOtherHost makes a host of which only facts are known the target. Its file tree is a temporary directory
// with the files that the facts describe, its ledger is empty, and it has neither systemd nor
// NetworkManager.
func (t *target) openOtherHost(facts HostFacts) error {
	tree, remove, err := hostfs.NewScratchTree(facts.files())
	if err != nil {
		return err
	}
	records, err := ledger.OpenReadOnly(filepath.Join(tree.Name(), joinstate.Dir), kinds.OfflineDrivers(tree, facts))
	if err != nil {
		remove()
		return err
	}
	t.otherHost, t.removeScratch = &facts, remove
	t.session.Host = machine.Reader{Facts: facts.asHost(), Files: tree, Ledger: records}
	return nil
}

// close closes the host.
func (t *target) close() {
	t.session.Host.Close()
	if t.removeScratch != nil {
		t.removeScratch()
	}
}

// otherFacts returns the facts for a plan, which lists all sysctls and kernel modules: the facts do not contain them.
func (t *target) otherFacts() (plan.Facts, error) {
	host := t.session.Host
	isUnknown := func(string) bool { return true }
	users, groups, err := accounts.IDs(host.Files)
	return plan.Facts{
		Host: host.Facts, Files: host.Files, UnitState: t.otherHost.unitState, Items: host.Ledger.Items(),
		User: users, Group: groups, HasModule: isUnknown, HasSysctl: isUnknown, IsModuleLoaded: isUnknown,
	}, err
}

// files returns the files that the facts describe, by path.
func (f HostFacts) files() map[string]string {
	var passwd, group strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.Users)) {
		fmt.Fprintf(&passwd, "%s:x:%d:%d::/:/sbin/nologin\n", name, f.Users[name], f.Users[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		fmt.Fprintf(&group, "%s:x:%d:\n", name, f.Groups[name])
	}
	return map[string]string{
		"/etc/passwd": passwd.String(),
		"/etc/group":  group.String(),
		"/etc/os-release": fmt.Sprintf("ID=%q\nID_LIKE=%q\nVERSION_ID=%q\nPRETTY_NAME=%q\n",
			f.OS.ID, strings.Join(f.OS.Like, " "), f.OS.Version, f.OS.Name),
	}
}

// isImpliedParent reports whether a pending change is the parent directory of another change, which
// the ledger adds. Whether it exists on another host is unknown.
func isImpliedParent(pending ledger.PlannedChange, requested []ledger.Change) bool {
	return pending.Kind == ledger.Directory &&
		!slices.ContainsFunc(requested, func(c ledger.Change) bool {
			return c.Kind == ledger.Directory && path.Clean(c.Target) == pending.Target
		})
}
