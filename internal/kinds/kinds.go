// SPDX-License-Identifier: Apache-2.0

// Package kinds is the registry of all kinds of changes: under which heading a plan lists them, which driver
// reads and sets them, whether they can be planned for a host of which only facts are known, and how they take
// effect. Everything else is derived from it. Start reading at All.
package kinds

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// Kind describes one kind of changes.
type Kind struct {
	Name  ledger.Kind
	Group Group // "" if a plan does not list it

	// Driver returns the driver of objects that the agent sets, nil if this host has none.
	Driver func(*Host) ledger.Driver
	// Snapshot returns the driver of objects that other components change. A kind has one of both; paths have
	// neither, because the ledger itself changes them.
	Snapshot func(*Host) ledger.SnapshotDriver
	// Offline returns the current state of an object of a host of which only facts are known. Nil: the kind is
	// not planned for such a host, or its driver needs only the file tree.
	Offline func(facts OfflineFacts, name string) ledger.State
	// NeedsOnlyTree: the driver works on the file tree of any host.
	NeedsOnlyTree bool

	// Effect returns how a change of an object takes effect. Nil: the agent applies it.
	Effect func(target string) effects.Effect
	// HasMembers: an object has several settings, the Names of its state. Settings that are not requested any
	// more are reverted before the others are set.
	HasMembers bool
}

// Host contains the parts of the running host that drivers need.
type Host struct {
	Tree     *hostfs.Tree
	Systemd  *systemd.Manager // nil if it is unreachable
	Bridge   *migrate.Driver
	Plugin   *networkplugin.Driver
	Unpacker *osimage.Driver
	Configs  *resource.LoadedConfigs
	Shared   *resource.SharedDirSnapshot

	ImageMode bool // the host was booted from an image
}

// OfflineFacts are the facts about a host that is not this one.
type OfflineFacts interface {
	// UnitFileState returns the state of a unit file, "" if there is none.
	UnitFileState(name string) string
}

// All returns all kinds.
func All() []Kind {
	kinds := []Kind{
		{Name: ledger.File, Group: GroupFiles, Effect: effects.OfPath},
		{Name: ledger.Symlink, Group: GroupFiles, Effect: effects.OfPath},
		{Name: ledger.HardLink, Group: GroupFiles, Effect: effects.OfPath},
		{
			Name:   ledger.Directory,
			Group:  GroupFiles,
			Effect: constant(effects.Nothing, false, "a directory has no content of its own"),
		},
		{
			Name: ledger.Unit, Group: GroupUnits, Driver: unitDriver,
			Offline: func(facts OfflineFacts, name string) ledger.State {
				state := facts.UnitFileState(name)
				return ledger.State{Present: state != "", Enabled: state}
			},
		},
		{
			Name: ledger.Sysctl, Group: GroupKernel, Offline: unknown,
			Driver: func(*Host) ledger.Driver { return resource.Sysctls{} },
		},
		{
			Name: ledger.Module, Group: GroupKernel, Offline: unknown,
			Driver: func(*Host) ledger.Driver { return resource.Modules{} },
		},
		{
			Name: ledger.KernelArguments, Group: GroupHost, HasMembers: true, Offline: unknown,
			Effect: constant(effects.Reboot, true, "the kernel reads its arguments at boot"),
			Driver: func(h *Host) ledger.Driver {
				return resource.KernelArguments{BootLoader: bootloader.Find(h.ImageMode), ImageMode: h.ImageMode}
			},
		},
		{
			Name: software.LockKind, Group: GroupHost,
			Driver: func(h *Host) ledger.Driver { return &software.Locks{Tree: h.Tree} },
		},
		{Name: accounts.Group, Group: GroupUsers, NeedsOnlyTree: true, Driver: accountDriver},
		{Name: accounts.User, Group: GroupUsers, NeedsOnlyTree: true, Driver: accountDriver},
		{
			Name: accounts.Keys, Group: GroupUsers, NeedsOnlyTree: true,
			Driver: func(h *Host) ledger.Driver { return accounts.NewKeysDriver(paths(h)) },
		},
		{Name: migrate.Kind, Driver: func(h *Host) ledger.Driver { return h.Bridge }},
		{Name: osimage.Kind, Driver: func(h *Host) ledger.Driver { return h.Unpacker }},

		{Name: ledger.Contents, Snapshot: func(h *Host) ledger.SnapshotDriver { return contents(h) }},
		{Name: ledger.SharedContents, Snapshot: func(h *Host) ledger.SnapshotDriver { return h.Shared }},
		{Name: ledger.Interfaces, Snapshot: func(*Host) ledger.SnapshotDriver { return resource.NetworkInterfaces{} }},
		{Name: ledger.ForeignSysctl, Snapshot: func(*Host) ledger.SnapshotDriver { return resource.Sysctls{} }},
		{Name: ledger.LoadedConfig, Snapshot: func(h *Host) ledger.SnapshotDriver { return h.Configs }},
		{
			Name:     crio.StorageKind,
			Snapshot: func(h *Host) ledger.SnapshotDriver { return &crio.StorageDriver{Contents: contents(h)} },
		},
		{Name: networkplugin.Kind, Snapshot: func(h *Host) ledger.SnapshotDriver { return h.Plugin }},
		{Name: software.TransactionKind, Snapshot: func(*Host) ledger.SnapshotDriver { return &software.Transactions{} }},
	}
	for _, setting := range resource.HostSettings() {
		kinds = append(kinds, Kind{
			Name: setting.Kind, Group: GroupHost, HasMembers: setting.HasMembers, Offline: unknown,
			Driver: func(*Host) ledger.Driver { return setting.Driver },
		})
	}
	return kinds
}

func unitDriver(h *Host) ledger.Driver {
	if h.Systemd == nil {
		return nil
	}
	return &resource.Units{Systemd: h.Systemd}
}

func accountDriver(h *Host) ledger.Driver { return accounts.NewDriver(h.Tree) }

func contents(h *Host) *resource.DirSnapshot { return &resource.DirSnapshot{Tree: h.Tree} }

func paths(h *Host) *ledger.Paths {
	return &ledger.Paths{Tree: h.Tree, SELinux: selinux.Policy{Tree: h.Tree}}
}

// unknown returns the state of an object that the facts do not contain. It counts as absent.
func unknown(OfflineFacts, string) ledger.State { return ledger.State{} }

func constant(action effects.Action, drain bool, reason string) func(string) effects.Effect {
	return func(target string) effects.Effect {
		return effects.Effect{Target: target, Action: action, Drain: drain, Reason: reason}
	}
}

// Of returns the kind of a change. A kind that no registry entry describes is the zero Kind.
func Of(name ledger.Kind) Kind {
	return lists.Find(All(), func(kind Kind) bool { return kind.Name == name })
}

// EffectOf returns the effect of a change of an object, whether it is added, changed or removed.
func EffectOf(c ledger.Change) effects.Effect {
	if effect := Of(c.Kind).Effect; effect != nil {
		return effect(c.Target)
	}
	return effects.Effect{Target: c.Target, Action: effects.Nothing, Reason: "the agent applies it"}
}

// Drivers returns the ledger drivers for a running host. It sets the drivers in h that are nil.
func Drivers(h *Host) ledger.Drivers {
	drivers := emptyDrivers(paths(h))
	for _, kind := range All() {
		switch {
		case kind.Snapshot != nil:
			drivers.Snapshots[kind.Name] = kind.Snapshot(h)
		case kind.Driver != nil:
			if driver := kind.Driver(h); driver != nil {
				drivers.Resources[kind.Name] = driver
			}
		}
	}
	return drivers
}

// OfflineDrivers returns the drivers that read the current states of a host of which only facts and the files
// that they describe are known.
func OfflineDrivers(tree *hostfs.Tree, facts OfflineFacts) ledger.Drivers {
	drivers := emptyDrivers(&ledger.Paths{Tree: tree})
	for _, kind := range All() {
		switch {
		case kind.Offline != nil:
			drivers.Snapshots[kind.Name] = offline(func(name string) ledger.State { return kind.Offline(facts, name) })
		case kind.NeedsOnlyTree:
			drivers.Resources[kind.Name] = kind.Driver(&Host{Tree: tree})
		}
	}
	return drivers
}

func emptyDrivers(paths *ledger.Paths) ledger.Drivers {
	return ledger.Drivers{
		Paths:     paths,
		Resources: map[ledger.Kind]ledger.Driver{},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{},
	}
}

// offline returns the current state of an object by its name. As a driver, it can only read.
type offline func(name string) ledger.State

// Get returns the state.
func (o offline) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	return o(c.Target), nil
}

// Restore is never called, because the ledger of the facts is empty and read-only.
func (offline) Restore(context.Context, ledger.Change, ledger.State) error { return nil }

// Group is the heading under which a plan lists a change.
type Group string

// The groups in the order of a plan.
const (
	GroupFiles   Group = "files"
	GroupUnits   Group = "units"
	GroupKernel  Group = "kernel"
	GroupHost    Group = "host settings"
	GroupUsers   Group = "users"
	GroupRuntime Group = "runtime"
	GroupOther   Group = "other"
)

// Groups returns all groups in the order of a plan.
func Groups() []Group {
	return []Group{GroupFiles, GroupUnits, GroupKernel, GroupHost, GroupUsers, GroupRuntime, GroupOther}
}

// Enum returns all groups.
func (Group) Enum() []string { return schema.Strings(Groups()...) }

// GroupOf returns the group of a change. Unit files are listed with the units.
func GroupOf(c ledger.Change) Group {
	group := Of(c.Kind).Group
	switch {
	case group == "":
		return GroupOther
	case group == GroupFiles && hostfs.IsWithin(c.Target, "/etc/systemd/system"):
		return GroupUnits
	}
	return group
}
