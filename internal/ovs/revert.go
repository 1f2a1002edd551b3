package ovs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// revertTime bounds a way back; a DHCP server may take its time.
const revertTime = 90 * time.Second

// giveBack ends a move that has failed. It also works after Ctrl-C.
func (d *Driver) giveBack(ctx context.Context, m Move, cause error) error {
	d.log.Note(fmt.Sprintf("moving %s into br-ex has failed (%v); giving the network back", m.Uplink, cause))
	if err := d.revert(context.WithoutCancel(ctx), m.Origin); err != nil {
		return report.Fail(report.NetworkRolledBack, "journalctl -u NetworkManager -u ovs-vswitchd -b   and the host's console",
			"moving %s into br-ex failed: %w; giving the network back failed too: %v; a timer (%s) tries once more within two minutes",
			m.Uplink, cause, err, guardName)
	}
	return report.Fail(report.NetworkRolledBack, "journalctl -u NetworkManager -b   then run the same command again",
		"moving %s into br-ex failed: %w; the network is as it was before: %s has its own profile %s again and its gateway answers", m.Uplink, cause, m.Uplink, m.Origin.ID)
}

// revert gives the NIC back to its original profile, from whatever state in
// between, checks that, and ends the unfinished move. Doing it twice is fine.
func (d *Driver) revert(ctx context.Context, o Origin) error {
	ctx, cancel := context.WithTimeout(ctx, revertTime)
	defer cancel()
	d.log.Wait("for NetworkManager to give "+o.Uplink+" back to its own profile", "")
	if err := d.rollBackCheckpoint(ctx, o); err != nil {
		d.log.Note(err.Error() + "; going on without")
	}
	activation, err := d.bringBack(ctx, o)
	if err != nil {
		return err
	}
	// At once, without waiting: as long as br-ex has the address too, its
	// routes win and lead nowhere.
	err = d.clear(ctx, o)
	if activation != nil {
		err = errors.Join(err, activation.Wait(ctx))
		activation.End()
	}
	if err != nil {
		return err
	}
	if err := d.verifyBack(ctx, o); err != nil {
		return err
	}
	return d.disarm(ctx)
}

// rollBackCheckpoint lets NetworkManager go back to what it knows. A checkpoint
// that is there while our profiles are must be that of the move: NetworkManager
// takes none beside another.
func (d *Driver) rollBackCheckpoint(ctx context.Context, o Origin) error {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil || len(o.ours(profiles)) == 0 {
		return err
	}
	checkpoints, err := d.NM.Checkpoints(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, checkpoint := range checkpoints {
		errs = append(errs, d.NM.RollbackCheckpoint(ctx, checkpoint))
	}
	return errors.Join(errs...)
}

// bringBack begins to bring the original profile up on the NIC; nil where it is
// up.
func (d *Driver) bringBack(ctx context.Context, o Origin) (*networkmanager.Activation, error) {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	original, found := Facts{Profiles: profiles}.profile(o.UUID)
	ref := original.Ref
	if !found {
		storage := networkmanager.ToDisk
		if o.Passing {
			storage = networkmanager.InMemory
		}
		if ref, err = d.NM.AddProfile(ctx, o.Settings, storage); err != nil {
			return nil, err
		}
	}
	nic, err := d.NM.Carrier(ctx, o.Uplink)
	if err != nil || (nic.Active.UUID == o.UUID && nic.Active.State == networkmanager.Activated) {
		return nil, err
	}
	activation, err := d.NM.BeginActivation(ctx, ref, nic)
	if err != nil {
		return nil, fmt.Errorf("bringing up %s on %s: %w", o.ID, o.Uplink, err)
	}
	return activation, nil
}

// clear removes our profiles and the bridge, whatever of them is there.
func (d *Driver) clear(ctx context.Context, o Origin) error {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return err
	}
	for _, profile := range o.ours(profiles) {
		if err := d.NM.DeleteProfile(ctx, profile.Ref); err != nil {
			return err
		}
	}
	// NetworkManager removes the bridge in its own time, and not at all while
	// there is a port in it that it has not made (OVN's, or the NIC's after a
	// move that broke off).
	if err := openvswitch.DeleteBridge(ctx, BridgeName); err != nil {
		return err
	}
	return poll(ctx, "NetworkManager to let br-ex go", func() (bool, error) {
		devices, err := d.NM.Devices(ctx)
		for _, device := range devices {
			if device.Name == BridgeName && device.Active.UUID != "" {
				return false, err
			}
		}
		return true, err
	})
}
