// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// originalProfile returns the original profile, and creates it again if
// necessary.
func (d *Driver) originalProfile(ctx context.Context, backup ovs.Backup) (networkmanager.Ref, error) {
	return d.ownProfile(ctx, ovs.Member{UUID: backup.UUID, Settings: backup.Settings, Volatile: backup.Volatile})
}

// ownProfile returns an interface's own profile, and creates it again if
// necessary: a profile that NetworkManager had generated in memory is lost at a
// reboot.
func (d *Driver) ownProfile(ctx context.Context, m ovs.Member) (networkmanager.Ref, error) {
	profile, found, err := d.NM.FindProfile(ctx, m.UUID)
	if err != nil || found {
		return profile.Ref, err
	}
	if m.Volatile {
		return d.NM.AddProfile(ctx, m.Settings, networkmanager.InMemory)
	}
	return d.NM.AddProfile(ctx, m.Settings, networkmanager.ToDisk)
}

// removeProfiles removes the existing profiles of the agent and the bridge.
func (d *Driver) removeProfiles(ctx context.Context, backup ovs.Backup) error {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return err
	}
	for _, profile := range backup.OwnProfiles(profiles) {
		if err := d.NM.DeleteProfile(ctx, profile.Ref); err != nil {
			return err
		}
	}
	// NetworkManager removes the bridge with a delay, and not at all while it has a
	// port that NetworkManager has not created: OVN's, or the NIC's after an
	// aborted migration.
	if err := d.removeBridge(ctx, backup.Uplink); err != nil {
		return err
	}
	return poll(ctx, "NetworkManager to deactivate br-ex", func() (bool, error) {
		devices, err := d.NM.Devices(ctx)
		return !slices.ContainsFunc(devices, func(device networkmanager.Device) bool {
			return device.Name == ovs.BridgeName && device.Active.UUID != ""
		}), err
	})
}
