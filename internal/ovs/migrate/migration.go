// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// migration is a migration in progress.
type migration struct {
	*Driver
	ovs.Migration
	endpoints         []Endpoint
	checkpoint        networkmanager.Checkpoint
	nic               networkmanager.Device
	addedProfiles     map[string]networkmanager.Ref // the agent's profiles by name
	reversePathFilter string                        // the final reverse path filter of br-ex
	nameservers       []netip.Addr                  // the name servers that responded before the migration
	ipv6              *ipv6Addresses
}

// addProfiles adds the agent's profiles in memory, where a reboot discards
// them, and without autoconnect.
func (m *migration) addProfiles(ctx context.Context) error {
	var err error
	if m.nic, err = m.NM.AddressDevice(ctx, m.Uplink); err != nil {
		return err
	}
	profiles := []networkmanager.Settings{
		nmprofile.WithoutAutoconnect(m.Profiles.Bridge),
		nmprofile.WithoutAutoconnect(m.Profiles.NICPort),
		nmprofile.WithoutAutoconnect(m.Profiles.BridgePort),
		nmprofile.WithoutAutoconnect(m.Profiles.NIC),
		m.Staged.Static,
	}
	for _, member := range m.Profiles.Members {
		profiles = append(profiles, nmprofile.WithoutAutoconnect(member))
	}
	for _, profile := range profiles {
		ref, err := m.NM.AddProfile(ctx, profile, networkmanager.InMemory)
		if err != nil {
			return err
		}
		m.addedProfiles[profile.Text("connection", "id")] = ref
	}
	return nil
}

// connectDatabase starts the activation of the bridge, which waits for its
// first port and has no effect yet. Then it reapplies the bridge, which makes
// NetworkManager call the Open vSwitch database. If Open vSwitch was started
// after NetworkManager, NetworkManager only connects for such a call, and until
// then reports Open vSwitch interfaces as unavailable (ovsdb_try_connect in
// nm-ovsdb.c, 1.42 to 1.5x).
func (m *migration) connectDatabase(ctx context.Context) error {
	activation, err := m.NM.BeginActivation(ctx, m.addedProfiles[ovs.BridgeProfile], networkmanager.Device{})
	if err != nil {
		return err
	}
	activation.End()
	limited, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var bridge networkmanager.Device
	err = poll(limited, "NetworkManager to start activating the bridge", func() (bool, error) {
		var err error
		bridge, err = m.NM.BridgeDevice(ctx, ovs.BridgeName)
		return bridge.Active.State != 0, err
	})
	if err != nil {
		return err
	}
	return m.callDatabase(limited, bridge)
}

// activateStatic activates br-ex with a copy of the NIC's addresses. Traffic still
// uses the NIC.
func (m *migration) activateStatic(ctx context.Context) error {
	before, err := openvswitch.ConfigGeneration(ctx)
	if err != nil {
		return err
	}
	if err := m.activate(ctx, ovs.BridgeIPProfile, networkmanager.Device{}); err != nil {
		return explainDatabaseFailure(ctx, before, err)
	}
	return nil
}

// attachPort attaches the NIC to the bridge. From here until activateNIC,
// incoming packets arrive on br-ex and outgoing packets leave through the NIC.
// A checkpoint does not cover this state: only the rollback timer does.
func (m *migration) attachPort(ctx context.Context) error {
	var err error
	if m.reversePathFilter, err = hostnet.ReversePathFilter(ovs.BridgeName); err != nil {
		return err
	}
	if err := hostnet.SetReversePathFilter(ovs.BridgeName, "2"); err != nil {
		return err
	}
	for _, gateway := range m.Gateways() {
		if err := hostnet.CopyNeighbour(gateway, m.Uplink, ovs.BridgeName); err != nil {
			return err
		}
	}
	return openvswitch.AttachPort(ctx, openvswitch.Attachment{
		Bridge:        ovs.BridgeName,
		NIC:           m.Uplink,
		PortProfile:   m.Backup.ProfileUUIDs[ovs.NICPortProfile],
		DeviceProfile: m.Backup.ProfileUUIDs[ovs.NICProfile],
	})
}

// activateNIC activates the new profile on the NIC, or removes the addresses of
// a NIC that keeps its own. The addresses of br-ex replace them.
func (m *migration) activateNIC(ctx context.Context) error {
	take := func() error { return m.activate(ctx, ovs.NICProfile, m.nic) }
	if m.Backup.KeepsProfile {
		take = func() error { return m.removeAddresses(ctx, m.nic) }
	}
	if err := take(); err != nil {
		return err
	}
	return hostnet.SetReversePathFilter(ovs.BridgeName, m.reversePathFilter)
}

// startDHCP makes br-ex request its addresses, for IPv4 in two steps: see
// nmprofile.StagedProfiles.
func (m *migration) startDHCP(ctx context.Context) error {
	var err error
	metric := int(m.Profiles.BridgeIP.Int64("ipv6", "route-metric"))
	if m.ipv6, err = keepIPv6(ovs.BridgeName, m.Profiles.BridgeIP, m.Backup.IPv6, metric); err != nil {
		return err
	}
	if err := m.reapply(ctx, m.Staged.DHCP); err != nil {
		return err
	}
	if !nmprofile.IsDynamic(m.Profiles.BridgeIP, networkmanager.IPv4) || len(m.Backup.IPv4.Addresses) == 0 {
		return m.removeStaleTableRoutes() // no static address was kept until there is a lease
	}
	if err := m.awaitLease(ctx, ovs.BridgeName); err != nil {
		return err
	}
	if err := m.reapply(ctx, nmprofile.WithoutAutoconnect(m.Profiles.BridgeIP)); err != nil {
		return err
	}
	if err := m.awaitLease(ctx, ovs.BridgeName); err != nil {
		return err
	}
	return m.removeStaleTableRoutes()
}

func (m *migration) reapply(ctx context.Context, settings networkmanager.Settings) error {
	profile := m.addedProfiles[ovs.BridgeIPProfile]
	if err := m.NM.UpdateProfile(ctx, profile, settings, networkmanager.InMemory); err != nil {
		return err
	}
	device, err := m.NM.AddressDevice(ctx, ovs.BridgeName)
	if err != nil {
		return err
	}
	return m.NM.Reapply(ctx, device, nil)
}

func (m *migration) activate(ctx context.Context, name string, device networkmanager.Device) error {
	return wrap.Errorf(m.NM.ActivateProfile(ctx, m.addedProfiles[name], device), "activating profile %s", name)
}

// save saves the profiles: first all of them without autoconnect, the bridge
// last, so that an incomplete set is never activated at boot; then with
// autoconnect.
func (m *migration) save(ctx context.Context) error {
	p := m.Profiles
	ordered := append([]networkmanager.Settings{p.NICPort, p.BridgePort, p.NIC, p.BridgeIP}, p.Members...)
	ordered = append(ordered, p.Bridge)
	for _, autoconnect := range []bool{false, true} {
		for _, profile := range ordered {
			ref := m.addedProfiles[profile.Text("connection", "id")]
			if !autoconnect {
				profile = nmprofile.WithoutAutoconnect(profile)
			}
			if err := m.NM.UpdateProfile(ctx, ref, profile, networkmanager.ToDisk); err != nil {
				return err
			}
		}
	}
	return m.Tree.SyncFileSystem("/etc") // NetworkManager does not sync its files
}

// commit makes the migration final. It destroys the checkpoint before it
// removes the pending file: if the checkpoint's timeout has expired,
// NetworkManager has already rolled back and returns an error here.
func (m *migration) commit(ctx context.Context) error {
	if err := m.NM.DestroyCheckpoint(ctx, m.checkpoint); err != nil {
		return err
	}
	if err := m.pending().remove(); err != nil {
		return err
	}
	if err := m.stopRollbackTimer(context.WithoutCancel(ctx)); err != nil {
		m.Log.Note(err.Error() + "; the rollback timer has no effect any more, and expires")
	}
	return nil
}
