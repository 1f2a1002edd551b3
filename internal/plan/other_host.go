// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
)

// openOtherHost opens a host of which only facts are known. Its file tree is a temporary directory
// with the files that the facts describe, its ledger is empty, and it has neither systemd nor
// NetworkManager.
func (b *Builder) openOtherHost(facts HostFacts) (err error) {
	m := &machine.Machine{Facts: facts.asHost()}
	if m.Tree, b.removeScratch, err = hostfs.NewScratchTree(facts.files()); err != nil {
		return err
	}
	b.Machine, b.otherHost = m, &facts
	m.Ledger, err = ledger.OpenReadOnly(filepath.Join(m.Tree.Name(), joinstate.Dir), otherHostDrivers(m.Tree, facts))
	return err
}

// Close closes the host.
func (b *Builder) Close() {
	if b.Machine != nil {
		b.Machine.Close()
	}
	if b.removeScratch != nil {
		b.removeScratch()
	}
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

// otherHostDrivers returns the drivers that read the current states from the facts. Sysctls,
// kernel modules and settings of the host are unknown and count as absent.
func otherHostDrivers(tree *hostfs.Tree, facts HostFacts) ledger.Drivers {
	drivers := ledger.Drivers{
		Paths:     &ledger.Paths{Tree: tree},
		Resources: map[ledger.Kind]ledger.Driver{},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
			ledger.Unit: knownState(func(name string) ledger.State {
				state := facts.unitState(name).File
				return ledger.State{Present: state != "", Enabled: state}
			}),
			ledger.Sysctl: knownState(func(string) ledger.State { return ledger.State{} }),
			ledger.Module: knownState(func(string) ledger.State { return ledger.State{} }),

			ledger.KernelArguments: knownState(func(string) ledger.State { return ledger.State{} }),
			ledger.Booleans:        knownState(func(string) ledger.State { return ledger.State{} }),
		},
	}
	accounts.AddDrivers(drivers)
	return drivers
}

// knownState returns the current state of an object by its name. As a driver, it can only read.
type knownState func(name string) ledger.State

// Get returns the state.
func (s knownState) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	return s(c.Target), nil
}

// Restore is never called, because the ledger of the facts is empty and read-only.
func (knownState) Restore(context.Context, ledger.Change, ledger.State) error { return nil }

// isImpliedParent reports whether a pending change is the parent directory of another change, which
// the ledger adds. Whether it exists on another host is unknown.
func isImpliedParent(pending ledger.PlannedChange, requested []ledger.Change) bool {
	return pending.Kind == ledger.Directory &&
		!slices.ContainsFunc(requested, func(c ledger.Change) bool {
			return c.Kind == ledger.Directory && path.Clean(c.Target) == pending.Target
		})
}
