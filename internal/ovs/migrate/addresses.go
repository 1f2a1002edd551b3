package migrate

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// removeAddresses removes the addresses of an uplink that keeps its profile.
func (d *Driver) removeAddresses(ctx context.Context, uplink networkmanager.Device) error {
	applied, err := d.NM.AppliedSettings(ctx, uplink)
	if err != nil {
		return err
	}
	return d.NM.Reapply(ctx, uplink, ovs.WithoutAddresses(applied))
}

// restoreAddresses does the work of restoreProfile for a NIC on which the
// original profile is still active, possibly without its addresses.
func (d *Driver) restoreAddresses(ctx context.Context, o ovs.Backup, nic networkmanager.Device, now ovs.IPState, carried ovs.AddressState) error {
	d.restoreMembers(ctx, o)
	held, err := d.reapplyAddresses(ctx, o, nic, now)
	if err != nil {
		return err
	}
	if err := d.removeProfilesAndAwaitMembers(ctx, o); err != nil {
		return err
	}
	if err := d.verifyRestored(ctx, o, carried, nil); err != nil || !held {
		return err
	}
	hold, err := keepIPv6(o.Uplink, o.Settings, now[networkmanager.IPv6], int(ovs.MetricOf(o.IPv6)))
	if err != nil {
		d.Log.Note(err.Error())
	}
	defer func() { _ = hold.release() }() // the rest of it expires
	if err := d.restoreProfileAddresses(ctx, o); err != nil {
		return err
	}
	return d.verifyRestored(ctx, o, carried, hold)
}

// reapplyAddresses adds the current addresses to an uplink that has kept its
// profile, beside those that the profile configures, while the bridge still
// exists. It reports whether the addresses had been removed.
func (d *Driver) reapplyAddresses(ctx context.Context, o ovs.Backup, uplink networkmanager.Device, now ovs.IPState) (bool, error) {
	applied, err := d.NM.AppliedSettings(ctx, uplink)
	if err != nil || !ovs.LostAddresses(applied, o.Settings) {
		return false, err
	}
	if err := d.raiseBridgeMetrics(ctx, o, now); err != nil {
		d.Log.Note(err.Error()) // the host is unreachable a little longer
	}
	return true, d.NM.Reapply(ctx, uplink, ovs.WithAddressesOf(applied, withHeldAddresses(o.Settings, now)))
}

// restoreProfileAddresses waits until the profile of such an uplink has configured its
// addresses, and then removes the static ones.
func (d *Driver) restoreProfileAddresses(ctx context.Context, o ovs.Backup) error {
	if ovs.IsDynamic(o.Settings, networkmanager.IPv4) && len(o.IPv4.Addresses) > 0 {
		limited, cancel := context.WithTimeout(ctx, leaseTimeout)
		defer cancel()
		err := poll(limited, "the DHCP server to answer on "+o.Uplink, func() (bool, error) {
			device, err := d.NM.AddressDevice(limited, o.Uplink)
			return len(device.IPv4.LeasedAddresses()) > 0, err
		})
		if err != nil {
			d.Log.Warn(fmt.Sprintf("no DHCP server has answered on %s; it keeps its address until one does", o.Uplink),
				report.Remedy("nmcli device reapply "+o.Uplink))
			return nil
		}
	}
	uplink, err := d.NM.AddressDevice(ctx, o.Uplink)
	if err != nil {
		return err
	}
	applied, err := d.NM.AppliedSettings(ctx, uplink)
	if err != nil {
		return err
	}
	return d.NM.Reapply(ctx, uplink, ovs.WithAddressesOf(applied, o.Settings))
}
