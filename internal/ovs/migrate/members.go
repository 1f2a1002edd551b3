// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const membersTimeout = 10 * time.Second // until all members must be ports of their bond again

// restoreMembers starts the activation of the own profiles of a bond's members,
// all at once: the bond has no network until the first one is active. Errors
// are logged, because other members may succeed.
func (d *Driver) restoreMembers(ctx context.Context, backup ovs.Backup) {
	for _, m := range backup.Members {
		if err := d.restoreMember(ctx, m); err != nil {
			d.Log.Note(err.Error())
		}
	}
}

func (d *Driver) restoreMember(ctx context.Context, m ovs.Member) error {
	nic, err := d.NM.AddressDevice(ctx, m.Name)
	if err != nil {
		return err
	}
	if nic.Active.UUID == m.UUID && nic.Active.State <= networkmanager.Activated {
		return nil
	}
	own, err := d.ownProfile(ctx, m)
	if err != nil {
		return err
	}
	activation, err := d.NM.BeginActivation(ctx, own, nic)
	if err != nil {
		return fmt.Errorf("activating profile %s on %s: %w", m.ID, m.Name, err)
	}
	activation.End()
	return nil
}

// awaitMembers waits until all members of a bond have their own profiles again,
// after the clones were deleted. NetworkManager (1.42) aborts the activation of
// a member while the bond itself is being activated ("dependency-failed"). It
// activates the clone instead, which removeProfiles deletes. The member's
// activation is then started again. A bond without one of its members still
// carries the host's traffic.
func (d *Driver) awaitMembers(ctx context.Context, backup ovs.Backup) error {
	limited, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	for _, m := range backup.Members {
		var last error
		err := poll(limited, "the activation of profile "+m.ID+" on "+m.Name, func() (bool, error) {
			nic, err := d.NM.AddressDevice(limited, m.Name)
			if err != nil || (nic.Active.UUID == m.UUID && nic.Active.State == networkmanager.Activated) {
				return true, err
			}
			last = d.restoreMember(limited, m)
			return false, nil
		})
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			d.Log.Warn(fmt.Sprintf("%s could not be attached to %s again: %v", m.Name, backup.Uplink, cmp.Or(last, err)),
				report.Remedy("nmcli connection up uuid "+m.UUID+" ifname "+m.Name))
		}
	}
	return nil
}

// removeProfilesAndAwaitMembers removes the agent's profiles and bridge, and waits for the members of a bond.
func (d *Driver) removeProfilesAndAwaitMembers(ctx context.Context, backup ovs.Backup) error {
	if err := d.removeProfiles(ctx, backup); err != nil {
		return err
	}
	return d.awaitMembers(ctx, backup)
}
