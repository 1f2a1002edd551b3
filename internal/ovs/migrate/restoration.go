// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// restoration is the restoration of an uplink in progress.
type restoration struct {
	*Driver
	backup ovs.Backup
	nic    networkmanager.Device // the uplink before the restoration
	now    nmprofile.IPState     // IP configuration to preserve: that of br-ex, or the uplink's before the migration
	state  ovs.AddressState      // the addressing that now amounts to; the uplink must have it afterwards
	ipv6   *ipv6Addresses        // kept while NetworkManager configures IPv6 again; nil: none
}

// restoreProfile activates the original profile on the NIC, removes the agent's
// profiles and bridge, and verifies that the NIC carries the host's traffic.
func (d *Driver) restoreProfile(ctx context.Context, backup ovs.Backup) error {
	r := &restoration{Driver: d, backup: backup}
	var err error
	if r.now, r.state, err = d.currentState(ctx, backup); err != nil {
		return err
	}
	if r.nic, err = d.NM.AddressDevice(ctx, backup.Uplink); err != nil {
		return err
	}
	if r.nic.Active.UUID == backup.UUID && r.nic.Active.State == networkmanager.Activated {
		return r.restoreAddresses(ctx)
	}
	original, err := d.originalProfile(ctx, backup)
	if err != nil {
		return err
	}
	r.raiseBridgeMetrics(ctx)
	pinned, unpin, err := d.pinMAC(ctx, original, backup, r.nic)
	if err != nil {
		return err
	}
	r.backup.Settings = pinned
	err = r.activateOriginal(ctx, original)
	return errors.Join(err, unpin(ctx))
}

// activateOriginal does the work of restoreProfile for a NIC with another
// active profile.
func (r *restoration) activateOriginal(ctx context.Context, original networkmanager.Ref) error {
	activation, err := r.NM.BeginActivation(ctx, original, r.nic)
	if err != nil {
		return fmt.Errorf("activating profile %s on %s: %w", r.backup.ID, r.backup.Uplink, err)
	}
	defer activation.End()
	r.keepIPv6()
	defer func() { _ = r.ipv6.release() }() // the rest of it expires
	r.restoreMembers(ctx, r.backup)
	limited, cancel := context.WithTimeout(ctx, staticFallbackTimeout)
	defer cancel()
	slow := activation.Wait(limited) != nil
	if slow {
		if err := r.holdAddress(ctx); err != nil {
			return err
		}
	}
	if err := r.removeProfilesAndAwaitMembers(ctx, r.backup); err != nil {
		return err
	}
	if err := r.verify(ctx); err != nil || !slow {
		return err
	}
	return r.releaseAddress(ctx, activation)
}

// keepIPv6 keeps the IPv6 addresses on the uplink until r.ipv6 is released.
func (r *restoration) keepIPv6() {
	var err error
	metric := int(nmprofile.MetricOf(r.backup.IPv6))
	r.ipv6, err = keepIPv6(r.backup.Uplink, r.backup.Settings, r.now[networkmanager.IPv6], metric)
	if err != nil {
		r.Log.Note(err.Error())
	}
}

// raiseBridgeMetrics makes the routes of br-ex worse than those that the NIC
// will have: they do not work once the NIC is detached from the bridge. An error
// is logged, because the host is only unreachable a little longer.
func (r *restoration) raiseBridgeMetrics(ctx context.Context) {
	bridgeIP, found, err := r.NM.FindProfile(ctx, r.backup.ProfileUUIDs[ovs.BridgeIPProfile])
	if err != nil {
		r.Log.Note(err.Error())
	}
	if !found {
		return
	}
	bridge, err := r.NM.AddressDevice(ctx, ovs.BridgeName)
	if err != nil || bridge.Active.State != networkmanager.Activated {
		return // an interface without the profile has no routes
	}
	settings := nmprofile.StaticSettings(bridgeIP.Settings, withMetricsOf(r.now, r.backup))
	if err := r.NM.Reapply(ctx, bridge, settings); err != nil {
		r.Log.Note(err.Error())
	}
}

// holdAddress adds the current addresses to the NIC as static ones, beside the
// DHCP of its profile, so that the host does not wait for a DHCP server. The
// profile itself is not changed.
func (r *restoration) holdAddress(ctx context.Context) error {
	settings := withHeldAddresses(r.backup.Settings, r.now)
	var last error
	err := poll(ctx, "NetworkManager to start the activation", func() (bool, error) {
		last = r.NM.Reapply(ctx, r.nic, settings)
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// releaseAddress removes the static addresses once there is a lease.
func (r *restoration) releaseAddress(ctx context.Context, activation *networkmanager.Activation) error {
	limited, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	if activation.Wait(limited) == nil {
		if err := r.NM.Reapply(ctx, r.nic, r.backup.Settings); err != nil {
			return err
		}
		return r.verify(ctx)
	}
	uplink := r.backup.Uplink
	device, err := r.NM.AddressDevice(ctx, uplink)
	if err != nil {
		return err
	}
	if len(device.IPv4.LeasedAddresses())+len(device.IPv6.LeasedAddresses()) == 0 {
		r.Log.Warn("no DHCP server or router has responded on "+uplink+
			"; the interface keeps its address until one responds",
			ovs.ReapplyWithLease(uplink))
		return nil
	}
	// There is a lease, but NetworkManager (1.42) continues to wait if the lease
	// arrived together with the reapply: activate the profile again.
	original, err := r.originalProfile(ctx, r.backup)
	if err != nil {
		return err
	}
	if err := r.NM.ActivateProfile(ctx, original, device); err != nil {
		return fmt.Errorf("activating profile %s on %s: %w", r.backup.ID, uplink, err)
	}
	return r.verify(ctx)
}

// verify checks that the NIC has the addressing of br-ex again. After a long time
// the DHCP server may assign another address, which is a warning and not an error.
func (r *restoration) verify(ctx context.Context) error {
	uplink := r.backup.Uplink
	missing := ""
	usable := func(facts ovs.Facts) string {
		missing = cmp.Or(r.state.Missing(facts, uplink), r.ipv6.missing(facts))
		return r.state.Unusable(facts, uplink)
	}
	limited, cancel := context.WithTimeout(ctx, fullRestoreTimeout)
	defer cancel()
	err := r.awaitState(limited, uplink, func(facts ovs.Facts) string { return cmp.Or(usable(facts), missing) })
	if err != nil {
		err = r.awaitState(ctx, uplink, usable)
	}
	if err != nil {
		return err
	}
	if missing != "" {
		r.Log.Warn(fmt.Sprintf("%s is restored, but its previous state differs: %s", uplink, missing),
			report.Remedy("nmcli device show "+uplink))
		return nil
	}
	// With its own profile, addresses and routes the uplink is in its original
	// state: if the gateway does not respond even so, the cause is not on this
	// host.
	if r.gatewayErr = probeGateways(ctx, uplink, r.state); r.gatewayErr != nil {
		r.Log.Warn(fmt.Sprintf("%s is restored, but %v", uplink, r.gatewayErr),
			"# check the network outside this host: the gateway, the switch and the cable")
	}
	return nil
}

// currentState returns the current addressing of br-ex, or the uplink's before
// the migration if br-ex has none.
func (d *Driver) currentState(ctx context.Context, backup ovs.Backup) (nmprofile.IPState, ovs.AddressState, error) {
	facts, err := ovs.GatherAddresses(ctx, d.NM.Reader())
	if err != nil {
		return nil, ovs.AddressState{}, err
	}
	link, _ := facts.Link(ovs.BridgeName)
	device, _ := facts.Device(ovs.BridgeName)
	state := ovs.AddressStateOf(facts, ovs.BridgeName)
	if device.Active.State == networkmanager.Activated && len(state.Addresses) > 0 && len(state.DefaultRoutes) > 0 {
		return ovs.IPStateOf(facts, link, device), state, nil
	}
	return nmprofile.IPState{networkmanager.IPv4: backup.IPv4, networkmanager.IPv6: backup.IPv6}, backup.AddressState, nil
}

// withMetricsOf returns state with route metrics that are at least those of the
// uplink.
func withMetricsOf(state nmprofile.IPState, backup ovs.Backup) nmprofile.IPState {
	before := map[networkmanager.Family]uint32{
		networkmanager.IPv4: nmprofile.MetricOf(backup.IPv4),
		networkmanager.IPv6: nmprofile.MetricOf(backup.IPv6),
	}
	changed := nmprofile.IPState{}
	for family, now := range state {
		now.Routes = slices.Clone(now.Routes)
		for i := range now.Routes {
			now.Routes[i].Metric = max(now.Routes[i].Metric, before[family])
		}
		changed[family] = now
	}
	return changed
}
