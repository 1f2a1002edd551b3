package ovs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// bringBack brings the original profile up on the NIC, clears what is ours
// away, and checks that the NIC carries the host.
func (d *Driver) bringBack(ctx context.Context, o Origin) error {
	now, carried, err := d.presentState(ctx, o)
	if err != nil {
		return err
	}
	nic, err := d.NM.Carrier(ctx, o.Uplink)
	if err != nil {
		return err
	}
	if nic.Active.UUID == o.UUID && nic.Active.State == networkmanager.Activated {
		return d.bringBackInPlace(ctx, o, nic, now, carried)
	}
	original, err := d.originalProfile(ctx, o)
	if err != nil {
		return err
	}
	if err := d.stepBack(ctx, o, now); err != nil {
		d.log.Note(err.Error()) // the host is out of reach a little longer
	}
	unpin, err := d.pinMAC(ctx, original, &o, nic)
	if err != nil {
		return err
	}
	err = d.bringUpOriginal(ctx, o, original, nic, now, carried)
	return errors.Join(err, unpin(ctx))
}

// bringUpOriginal is bringBack where the NIC has another profile now.
func (d *Driver) bringUpOriginal(
	ctx context.Context, o Origin, original networkmanager.Ref, nic networkmanager.Device, now present, carried Carried,
) error {
	activation, err := d.NM.BeginActivation(ctx, original, nic)
	if err != nil {
		return fmt.Errorf("bringing up %s on %s: %w", o.ID, o.Uplink, err)
	}
	defer activation.End()
	hold, err := holdIPv6(o.Uplink, o.Settings, now[networkmanager.IPv6], int(metricOf(o.IPv6)))
	if err != nil {
		d.log.Note(err.Error())
	}
	defer func() { _ = hold.letGo() }() // what is left of it expires
	d.bringMembersBack(ctx, o)
	patient, cancel := context.WithTimeout(ctx, patienceTime)
	defer cancel()
	slow := activation.Wait(patient) != nil
	if slow {
		if err := d.holdAddress(ctx, o, nic, now); err != nil {
			return err
		}
	}
	if err := d.release(ctx, o); err != nil {
		return err
	}
	if err := d.verifyBack(ctx, o, carried, hold); err != nil || !slow {
		return err
	}
	return d.letGo(ctx, o, nic, activation, carried, hold)
}

// stepBack makes the routes of br-ex worse than those that the NIC will have:
// as soon as the NIC has left the bridge, they lead nowhere.
func (d *Driver) stepBack(ctx context.Context, o Origin, now present) error {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return err
	}
	bridgeIP, found := Facts{Profiles: profiles}.profile(o.Ours[bridgeIPProfile])
	if !found {
		return nil
	}
	bridge, err := d.NM.Carrier(ctx, BridgeName)
	if err != nil || bridge.Active.State != networkmanager.Activated {
		return nil //nolint:nilerr // then it has no routes
	}
	return d.NM.Reapply(ctx, bridge, copyStep(bridgeIP.Settings, now.withMetricsOf(o)))
}

// presentState is what the host has now, on br-ex, or had before the move.
func (d *Driver) presentState(ctx context.Context, o Origin) (present, Carried, error) {
	facts, err := d.lookAddresses(ctx)
	if err != nil {
		return nil, Carried{}, err
	}
	link, _ := facts.link(BridgeName)
	device, _ := facts.device(BridgeName)
	carried := carriedBy(facts, BridgeName)
	if device.Active.State == networkmanager.Activated && len(carried.Stable) > 0 && len(carried.Defaults) > 0 {
		return presentOn(facts, link, device), carried, nil
	}
	return present{networkmanager.IPv4: o.IPv4, networkmanager.IPv6: o.IPv6}, o.Carried, nil
}

// withMetricsOf gives the routes the metrics that the uplink's had.
func (p present) withMetricsOf(o Origin) present {
	before := map[networkmanager.Family]uint32{networkmanager.IPv4: metricOf(o.IPv4), networkmanager.IPv6: metricOf(o.IPv6)}
	changed := present{}
	for family, now := range p {
		now.Routes = slices.Clone(now.Routes)
		for i := range now.Routes {
			now.Routes[i].Metric = max(now.Routes[i].Metric, before[family])
		}
		changed[family] = now
	}
	return changed
}

// originalProfile finds the original profile, or makes it again.
func (d *Driver) originalProfile(ctx context.Context, o Origin) (networkmanager.Ref, error) {
	return d.ownProfile(ctx, Member{UUID: o.UUID, Settings: o.Settings, Passing: o.Passing})
}

// ownProfile finds an interface's own profile, or makes it again: one that
// NetworkManager had made up is gone after a reboot.
func (d *Driver) ownProfile(ctx context.Context, o Member) (networkmanager.Ref, error) {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return "", err
	}
	if own, found := (Facts{Profiles: profiles}).profile(o.UUID); found {
		return own.Ref, nil
	}
	storage := networkmanager.ToDisk
	if o.Passing {
		storage = networkmanager.InMemory
	}
	return d.NM.AddProfile(ctx, o.Settings, storage)
}

// holdAddress gives the NIC the present address by hand, beside the DHCP that
// its profile begins, so that the host does not wait for a DHCP server. The
// profile itself is not changed.
func (d *Driver) holdAddress(ctx context.Context, o Origin, nic networkmanager.Device, now present) error {
	settings := held(o.Settings, now)
	var last error
	err := poll(ctx, "NetworkManager to begin", func() (bool, error) {
		last = d.NM.Reapply(ctx, nic, settings)
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// held is a profile that has the present addresses of both families beside.
func held(s networkmanager.Settings, now present) networkmanager.Settings {
	for _, family := range networkmanager.Families() {
		s = withAddresses(s, family, now)
	}
	return s
}

// letGo leaves the address to DHCP alone, once there is a lease.
func (d *Driver) letGo(ctx context.Context, o Origin, nic networkmanager.Device, activation *networkmanager.Activation, carried Carried, hold *ipv6Hold) error {
	limited, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	if activation.Wait(limited) == nil {
		if err := d.NM.Reapply(ctx, nic, o.Settings); err != nil {
			return err
		}
		return d.verifyBack(ctx, o, carried, hold)
	}
	device, err := d.NM.Carrier(ctx, o.Uplink)
	if err != nil {
		return err
	}
	if len(device.IPv4.LeasedAddresses())+len(device.IPv6.LeasedAddresses()) == 0 {
		d.log.Warn(fmt.Sprintf("neither a DHCP server nor a router has answered on %s; it keeps its address until one does", o.Uplink),
			"nmcli device reapply "+o.Uplink)
		return nil
	}
	// There is a lease, and NetworkManager (1.42) goes on waiting when it came
	// together with the reapply: once more from the start.
	original, err := d.originalProfile(ctx, o)
	if err != nil {
		return err
	}
	if err := d.NM.ActivateProfile(ctx, original, device); err != nil {
		return fmt.Errorf("bringing up %s on %s: %w", o.ID, o.Uplink, err)
	}
	return d.verifyBack(ctx, o, carried, hold)
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
	if err := d.removeBridge(ctx, o.Uplink); err != nil {
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
