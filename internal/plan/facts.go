// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// Facts contains the facts about a host from which Build decides. Its functions only read, and return the same value
// for the same name.
type Facts struct {
	Host      hostinfo.Facts
	Files     hostfs.Reader
	UnitState func(name string) systemd.UnitState
	HasSysctl func(name string) bool // whether the running kernel has the sysctl
	HasModule func(name string) bool // whether the module is built in, loaded or loadable
	// IsModuleLoaded reports whether a module is loaded or built in.
	IsModuleLoaded func(name string) bool
	// HasDevice reports whether a path below /dev exists, nil if that is unknown. HasFileSystem reports whether a file
	// system is mounted at a path, without a bind mount.
	HasDevice, HasFileSystem func(path string) bool
	HasContent               func(path string) bool // whether a block device has content, nil if that is unknown

	User, Group  map[string]int     // IDs by name
	FirewallZone string             // of firewalld, in which ports are opened; "" if the agent opens none
	Locks        []ledger.Change    // the version locks of the node's packages
	Items        []ledger.Item      // of the ledger
	Deployments  *deployment.Status // nil in package mode, and if they are unknown
	// Network contains the facts about the uplink; nil: NetworkManager does not run, which a check reports, or
	// the migration is not planned.
	Network *ovs.Facts
	// InstallsOpenVSwitch: the packages step installs what the migration needs.
	InstallsOpenVSwitch bool
}

// Gather gathers the facts for Build. The migration of the uplink is planned unless it is skipped.
func (s *Session) Gather(ctx context.Context, uplink *Uplink, payload *ignition.Payload) (Facts, error) {
	f := Facts{
		Host: s.Host.Facts, Files: s.Host.Files, UnitState: unitStates(ctx, s.Host.Units), HasSysctl: hostinfo.HasSysctl,
		HasModule:      func(name string) bool { return hostinfo.HasModule(ctx, name) },
		IsModuleLoaded: func(name string) bool { return hostinfo.IsModuleLoaded(ctx, name) },
		HasDevice:      hostinfo.HasDevice, HasFileSystem: hostinfo.HasFileSystem,
		HasContent: func(device string) bool { return hostinfo.HasContent(ctx, device) },
	}
	if s.Host.Ledger != nil {
		f.Items = s.Host.Ledger.Items()
	}
	var err error
	if f.User, f.Group, err = accounts.IDs(s.Host.Files); err != nil {
		return f, err
	}
	if f.Deployments, err = s.Host.Deployments(ctx); err != nil {
		return f, err
	}
	if s.Run.Config.AppliesHostSettings() { // NetworkManager adds interfaces to the default zone
		if f.FirewallZone, err = resource.DefaultZone(ctx); err != nil {
			return f, err
		}
	}
	if f.Locks, err = s.versionLocks(ctx, payload); err != nil {
		return f, err
	}
	if s.Host.NetworkManager == nil || !s.AttachesUplink() {
		return f, nil
	}
	network, err := uplink.Facts(ctx)
	if err != nil {
		return f, err
	}
	f.Network, f.InstallsOpenVSwitch = &network, s.lacksOpenVSwitch(network)
	return f, nil
}

// unitStates returns a function that returns the state of a unit, which it reads once.
func unitStates(ctx context.Context, manager systemd.Reader) func(name string) systemd.UnitState {
	units := map[string]systemd.UnitState{}
	return func(name string) systemd.UnitState {
		if state, known := units[name]; known || manager == nil {
			return state
		}
		state, err := manager.UnitState(ctx, name)
		if err != nil {
			state = systemd.UnitState{Load: "not-found"}
		}
		units[name] = state
		return state
	}
}
