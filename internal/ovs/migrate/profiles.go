package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// restoreProfile activates the original profile on the NIC, removes the agent's
// profiles and bridge, and verifies that the NIC carries the host's traffic.
func (d *Driver) restoreProfile(ctx context.Context, o ovs.Backup) error {
	now, carried, err := d.currentState(ctx, o)
	if err != nil {
		return err
	}
	nic, err := d.NM.AddressDevice(ctx, o.Uplink)
	if err != nil {
		return err
	}
	if nic.Active.UUID == o.UUID && nic.Active.State == networkmanager.Activated {
		return d.restoreAddresses(ctx, o, nic, now, carried)
	}
	original, err := d.originalProfile(ctx, o)
	if err != nil {
		return err
	}
	if err := d.raiseBridgeMetrics(ctx, o, now); err != nil {
		d.Log.Note(err.Error()) // the host is unreachable a little longer
	}
	unpin, err := d.pinMAC(ctx, original, &o, nic)
	if err != nil {
		return err
	}
	err = d.activateOriginal(ctx, o, original, nic, now, carried)
	return errors.Join(err, unpin(ctx))
}

// activateOriginal does the work of restoreProfile for a NIC with another
// active profile.
func (d *Driver) activateOriginal(
	ctx context.Context, o ovs.Backup, original networkmanager.Ref, nic networkmanager.Device, now ovs.IPState, carried ovs.AddressState,
) error {
	activation, err := d.NM.BeginActivation(ctx, original, nic)
	if err != nil {
		return fmt.Errorf("bringing up %s on %s: %w", o.ID, o.Uplink, err)
	}
	defer activation.End()
	hold, err := keepIPv6(o.Uplink, o.Settings, now[networkmanager.IPv6], int(ovs.MetricOf(o.IPv6)))
	if err != nil {
		d.Log.Note(err.Error())
	}
	defer func() { _ = hold.release() }() // the rest of it expires
	d.restoreMembers(ctx, o)
	limited, cancel := context.WithTimeout(ctx, staticFallbackTimeout)
	defer cancel()
	slow := activation.Wait(limited) != nil
	if slow {
		if err := d.holdAddress(ctx, o, nic, now); err != nil {
			return err
		}
	}
	if err := d.removeProfilesAndAwaitMembers(ctx, o); err != nil {
		return err
	}
	if err := d.verifyRestored(ctx, o, carried, hold); err != nil || !slow {
		return err
	}
	return d.releaseAddress(ctx, o, nic, activation, carried, hold)
}

// raiseBridgeMetrics makes the routes of br-ex worse than those that the NIC
// will have: they do not work once the NIC is detached from the bridge.
func (d *Driver) raiseBridgeMetrics(ctx context.Context, o ovs.Backup, now ovs.IPState) error {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return err
	}
	bridgeIP, found := ovs.Facts{Profiles: profiles}.Profile(o.OwnUUIDs[ovs.BridgeIPProfile])
	if !found {
		return nil
	}
	bridge, err := d.NM.AddressDevice(ctx, ovs.BridgeName)
	if err != nil || bridge.Active.State != networkmanager.Activated {
		return nil //nolint:nilerr // an interface without the profile has no routes
	}
	return d.NM.Reapply(ctx, bridge, ovs.StaticSettings(bridgeIP.Settings, withMetricsOf(now, o)))
}

// currentState returns the current addressing of br-ex, or the uplink's before
// the migration if br-ex has none.
func (d *Driver) currentState(ctx context.Context, o ovs.Backup) (ovs.IPState, ovs.AddressState, error) {
	facts, err := d.gatherAddresses(ctx)
	if err != nil {
		return nil, ovs.AddressState{}, err
	}
	link, _ := facts.Link(ovs.BridgeName)
	device, _ := facts.Device(ovs.BridgeName)
	carried := ovs.AddressStateOf(facts, ovs.BridgeName)
	if device.Active.State == networkmanager.Activated && len(carried.Stable) > 0 && len(carried.Defaults) > 0 {
		return ovs.IPStateOf(facts, link, device), carried, nil
	}
	return ovs.IPState{networkmanager.IPv4: o.IPv4, networkmanager.IPv6: o.IPv6}, o.State, nil
}

// withMetricsOf returns state with route metrics that are at least those of the
// uplink.
func withMetricsOf(state ovs.IPState, o ovs.Backup) ovs.IPState {
	before := map[networkmanager.Family]uint32{networkmanager.IPv4: ovs.MetricOf(o.IPv4), networkmanager.IPv6: ovs.MetricOf(o.IPv6)}
	changed := ovs.IPState{}
	for family, now := range state {
		now.Routes = slices.Clone(now.Routes)
		for i := range now.Routes {
			now.Routes[i].Metric = max(now.Routes[i].Metric, before[family])
		}
		changed[family] = now
	}
	return changed
}

// originalProfile returns the original profile, and creates it again if
// necessary.
func (d *Driver) originalProfile(ctx context.Context, o ovs.Backup) (networkmanager.Ref, error) {
	return d.ownProfile(ctx, ovs.Member{UUID: o.UUID, Settings: o.Settings, Volatile: o.Volatile})
}

// ownProfile returns an interface's own profile, and creates it again if
// necessary: a profile that NetworkManager had generated in memory is lost at a
// reboot.
func (d *Driver) ownProfile(ctx context.Context, o ovs.Member) (networkmanager.Ref, error) {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return "", err
	}
	if own, found := (ovs.Facts{Profiles: profiles}).Profile(o.UUID); found {
		return own.Ref, nil
	}
	storage := networkmanager.ToDisk
	if o.Volatile {
		storage = networkmanager.InMemory
	}
	return d.NM.AddProfile(ctx, o.Settings, storage)
}

// holdAddress adds the current addresses to the NIC as static ones, beside the
// DHCP of its profile, so that the host does not wait for a DHCP server. The
// profile itself is not changed.
func (d *Driver) holdAddress(ctx context.Context, o ovs.Backup, nic networkmanager.Device, now ovs.IPState) error {
	settings := withHeldAddresses(o.Settings, now)
	var last error
	err := poll(ctx, "NetworkManager to begin", func() (bool, error) {
		last = d.NM.Reapply(ctx, nic, settings)
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// withHeldAddresses returns the profile with the current addresses of both
// families as additional static ones.
func withHeldAddresses(s networkmanager.Settings, now ovs.IPState) networkmanager.Settings {
	for _, family := range networkmanager.Families() {
		s = ovs.WithStaticAddresses(s, family, now)
	}
	return s
}

// releaseAddress removes the static addresses once there is a lease.
func (d *Driver) releaseAddress(ctx context.Context, o ovs.Backup, nic networkmanager.Device, activation *networkmanager.Activation, carried ovs.AddressState, hold *ipv6Addresses) error {
	limited, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	if activation.Wait(limited) == nil {
		if err := d.NM.Reapply(ctx, nic, o.Settings); err != nil {
			return err
		}
		return d.verifyRestored(ctx, o, carried, hold)
	}
	device, err := d.NM.AddressDevice(ctx, o.Uplink)
	if err != nil {
		return err
	}
	if len(device.IPv4.LeasedAddresses())+len(device.IPv6.LeasedAddresses()) == 0 {
		d.Log.Warn(fmt.Sprintf("neither a DHCP server nor a router has answered on %s; it keeps its address until one does", o.Uplink),
			report.Remedy("nmcli device reapply "+o.Uplink))
		return nil
	}
	// There is a lease, but NetworkManager (1.42) continues to wait if the lease
	// arrived together with the reapply: activate the profile again.
	original, err := d.originalProfile(ctx, o)
	if err != nil {
		return err
	}
	if err := d.NM.ActivateProfile(ctx, original, device); err != nil {
		return fmt.Errorf("bringing up %s on %s: %w", o.ID, o.Uplink, err)
	}
	return d.verifyRestored(ctx, o, carried, hold)
}

// removeProfiles removes the existing profiles of the agent and the bridge.
func (d *Driver) removeProfiles(ctx context.Context, o ovs.Backup) error {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return err
	}
	for _, profile := range o.OwnProfiles(profiles) {
		if err := d.NM.DeleteProfile(ctx, profile.Ref); err != nil {
			return err
		}
	}
	// NetworkManager removes the bridge with a delay, and not at all while it has a
	// port that NetworkManager has not created: OVN's, or the NIC's after an
	// aborted migration.
	if err := d.removeBridge(ctx, o.Uplink); err != nil {
		return err
	}
	return poll(ctx, "NetworkManager to let br-ex go", func() (bool, error) {
		devices, err := d.NM.Devices(ctx)
		for _, device := range devices {
			if device.Name == ovs.BridgeName && device.Active.UUID != "" {
				return false, err
			}
		}
		return true, err
	})
}
