// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
)

// removeAddresses removes the addresses of an uplink that keeps its profile.
func (d *Driver) removeAddresses(ctx context.Context, uplink networkmanager.Device) error {
	applied, err := d.NM.AppliedSettings(ctx, uplink)
	if err != nil {
		return err
	}
	return d.NM.Reapply(ctx, uplink, nmprofile.WithoutAddresses(applied))
}

// restoreAddresses does the work of restoreProfile for a NIC on which the
// original profile is still active, possibly without its addresses.
func (r *restoration) restoreAddresses(ctx context.Context) error {
	r.restoreMembers(ctx, r.backup)
	held, err := r.reapplyAddresses(ctx)
	if err != nil {
		return err
	}
	if err := r.removeProfilesAndAwaitMembers(ctx, r.backup); err != nil {
		return err
	}
	if err := r.verify(ctx); err != nil || !held {
		return err
	}
	r.keepIPv6()
	defer func() { _ = r.ipv6.release() }() // the rest of it expires
	if err := r.restoreProfileAddresses(ctx); err != nil {
		return err
	}
	return r.verify(ctx)
}

// reapplyAddresses adds the current addresses to an uplink that has kept its
// profile, beside those that the profile configures, while the bridge still
// exists. It reports whether the addresses had been removed.
func (r *restoration) reapplyAddresses(ctx context.Context) (bool, error) {
	applied, err := r.NM.AppliedSettings(ctx, r.nic)
	if err != nil || !nmprofile.LostAddresses(applied, r.backup.Settings) {
		return false, err
	}
	r.raiseBridgeMetrics(ctx)
	settings := nmprofile.WithAddressesOf(applied, withHeldAddresses(r.backup.Settings, r.now))
	return true, r.NM.Reapply(ctx, r.nic, settings)
}

// restoreProfileAddresses waits until the profile of such an uplink has configured its
// addresses, and then removes the static ones.
func (r *restoration) restoreProfileAddresses(ctx context.Context) error {
	name, settings := r.backup.Uplink, r.backup.Settings
	if nmprofile.IsDynamic(settings, networkmanager.IPv4) && len(r.backup.IPv4.Addresses) > 0 {
		limited, cancel := context.WithTimeout(ctx, leaseTimeout)
		defer cancel()
		if err := r.awaitLease(limited, name); err != nil {
			r.Log.Warn("no DHCP server has responded on "+name+"; the interface keeps its address until one responds",
				ovs.ReapplyWithLease(name))
			return nil
		}
	}
	uplink, err := r.NM.AddressDevice(ctx, name)
	if err != nil {
		return err
	}
	applied, err := r.NM.AppliedSettings(ctx, uplink)
	if err != nil {
		return err
	}
	return r.NM.Reapply(ctx, uplink, nmprofile.WithAddressesOf(applied, settings))
}

// withHeldAddresses returns the profile with the current addresses of both
// families as additional static ones.
func withHeldAddresses(s networkmanager.Settings, now nmprofile.IPState) networkmanager.Settings {
	for _, family := range networkmanager.Families() {
		s = nmprofile.WithStaticAddresses(s, family, now)
	}
	return s
}

// awaitLease waits until a link has an IPv4 address from a DHCP server.
func (d *Driver) awaitLease(ctx context.Context, link string) error {
	return poll(ctx, "a DHCP response on "+link, func() (bool, error) {
		device, err := d.NM.AddressDevice(ctx, link)
		return len(device.IPv4.LeasedAddresses()) > 0, err
	})
}
