package migrate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

const membersTimeout = 10 * time.Second // that all members have to be part of their bond again

// restoreMembers begins to bring up the members of a bond by their own
// profiles, all at once: the bond has no network until the first is there. What
// fails is told; the others may do.
func (d *Driver) restoreMembers(ctx context.Context, o ovs.Backup) {
	for _, m := range o.Members {
		if err := d.restoreMember(ctx, m); err != nil {
			d.log.Note(err.Error())
		}
	}
}

func (d *Driver) restoreMember(ctx context.Context, m ovs.Member) error {
	nic, err := d.NM.Carrier(ctx, m.Name)
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
		return fmt.Errorf("bringing up %s on %s: %w", m.ID, m.Name, err)
	}
	activation.End()
	return nil
}

// awaitMembers waits until all members of a bond have their own profiles again,
// once the clones are gone. NetworkManager (1.42) ends the activation of a member
// which comes while the bond is still being given its profile ("dependency-failed"),
// and takes the clone instead, which clear deletes: that member's is begun again.
// A bond that lacks one carries the host all the same.
func (d *Driver) awaitMembers(ctx context.Context, o ovs.Backup) error {
	limited, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	for _, m := range o.Members {
		var last error
		err := poll(limited, "its profile "+m.ID, func() (bool, error) {
			nic, err := d.NM.Carrier(limited, m.Name)
			if err != nil || isRestored(m, nic) {
				return true, err
			}
			last = d.restoreMember(limited, m)
			return false, nil
		})
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			d.log.Warn(fmt.Sprintf("%s is not part of %s again: %v", m.Name, o.Uplink, cmp.Or(last, err)), "nmcli connection up uuid "+m.UUID+" ifname "+m.Name)
		}
	}
	return nil
}

// removeOwn takes away what is ours, and leaves a bond with its members.
func (d *Driver) removeOwn(ctx context.Context, o ovs.Backup) error {
	if err := d.removeProfiles(ctx, o); err != nil {
		return err
	}
	return d.awaitMembers(ctx, o)
}

// isRestored reports whether a member has its own profile again.
func isRestored(m ovs.Member, nic networkmanager.Device) bool {
	return nic.Active.UUID == m.UUID && nic.Active.State == networkmanager.Activated
}
