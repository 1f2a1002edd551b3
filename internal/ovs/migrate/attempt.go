package migrate

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// migration is a move under way.
type migration struct {
	*Driver
	ovs.Migration
	checkpoint  networkmanager.Checkpoint
	nic         networkmanager.Device
	added       map[string]networkmanager.Ref // our profiles by name
	filter      string                        // br-ex's reverse path filter, as it shall be
	nameservers []netip.Addr                  // the name servers that answered before
	ipv6        *ipv6Addresses
}

// addProfiles adds our profiles in memory, where a reboot forgets them, and
// none of them comes up by itself.
func (a *migration) addProfiles(ctx context.Context) error {
	var err error
	if a.nic, err = a.NM.Carrier(ctx, a.Uplink); err != nil {
		return err
	}
	m := a.Migration
	profiles := []networkmanager.Settings{
		ovs.WithoutAutoconnect(m.Profiles.Bridge), ovs.WithoutAutoconnect(m.Profiles.NICPort), ovs.WithoutAutoconnect(m.Profiles.BridgePort),
		ovs.WithoutAutoconnect(m.Profiles.NIC), m.Staged.Static,
	}
	for _, member := range m.Profiles.Members {
		profiles = append(profiles, ovs.WithoutAutoconnect(member))
	}
	for _, profile := range profiles {
		ref, err := a.NM.AddProfile(ctx, profile, networkmanager.InMemory)
		if err != nil {
			return err
		}
		a.added[profile.Text("connection", "id")] = ref
	}
	return nil
}

// connectDatabase begins to bring the bridge up, which waits for its first port
// and has no effect yet, and reapplies it, which makes NetworkManager call the
// Open vSwitch database. When Open vSwitch was started after it, it is not
// connected, connects only for a call, and until then leaves Open vSwitch
// interfaces unavailable (ovsdb_try_connect in nm-ovsdb.c, 1.42 to 1.5x).
func (a *migration) connectDatabase(ctx context.Context) error {
	activation, err := a.NM.BeginActivation(ctx, a.added[ovs.BridgeProfile], networkmanager.Device{})
	if err != nil {
		return err
	}
	activation.End()
	limited, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var bridge networkmanager.Device
	err = poll(limited, "NetworkManager to begin with the bridge", func() (bool, error) {
		var err error
		bridge, err = a.NM.SwitchDevice(ctx, ovs.BridgeName)
		return bridge.Active.State != 0, err
	})
	if err != nil {
		return err
	}
	return a.callDatabase(limited, bridge)
}

// bringUpCopy brings br-ex up with a copy of the NIC's address. Traffic still
// goes through the NIC.
func (a *migration) bringUpCopy(ctx context.Context) error {
	before, err := openvswitch.Generation(ctx)
	if err != nil {
		return err
	}
	if err := a.activate(ctx, ovs.BridgeIPProfile, networkmanager.Device{}); err != nil {
		return refusedByDatabase(ctx, before, err)
	}
	return nil
}

func (a *migration) bringUpPort(ctx context.Context) error {
	return a.activate(ctx, ovs.NICPortProfile, networkmanager.Device{})
}

// attachPort plugs the NIC into the bridge. From here until adopt, what is received
// arrives on br-ex and what is sent leaves by the NIC, and a checkpoint would
// not notice: only the timer helps.
func (a *migration) attachPort(ctx context.Context) error {
	var err error
	if a.filter, err = host.ReversePathFilter(ovs.BridgeName); err != nil {
		return err
	}
	if err := host.SetReversePathFilter(ovs.BridgeName, "2"); err != nil {
		return err
	}
	for _, gateway := range a.Gateways() {
		if err := host.CopyNeighbour(gateway, a.Uplink, ovs.BridgeName); err != nil {
			return err
		}
	}
	return openvswitch.Attach(ctx, openvswitch.Attachment{
		Bridge: ovs.BridgeName, NIC: a.Uplink,
		PortProfile: a.Backup.OwnUUIDs[ovs.NICPortProfile], DeviceProfile: a.Backup.OwnUUIDs[ovs.NICProfile],
	})
}

// activateNIC gives the NIC to its new profile, or lets it keep its own without
// addresses: those of br-ex take over.
func (a *migration) activateNIC(ctx context.Context) error {
	take := func() error { return a.activate(ctx, ovs.NICProfile, a.nic) }
	if a.Backup.InPlace {
		take = func() error { return a.removeAddresses(ctx, a.nic) }
	}
	if err := take(); err != nil {
		return err
	}
	return host.SetReversePathFilter(ovs.BridgeName, a.filter)
}

// applyFinalMetrics makes br-ex's routes better than those of other interfaces.
func (a *migration) applyFinalMetrics(ctx context.Context) error {
	return a.reapply(ctx, a.Staged.StaticFinalMetric)
}

// startDHCP lets br-ex ask for its addresses itself, IPv4 in two steps: see
// leaseStep.
func (a *migration) startDHCP(ctx context.Context) error {
	var err error
	metric := int(a.Profiles.BridgeIP.Long("ipv6", "route-metric"))
	if a.ipv6, err = keepIPv6(ovs.BridgeName, a.Profiles.BridgeIP, a.Backup.IPv6, metric); err != nil {
		return err
	}
	if err := a.reapply(ctx, a.Staged.DHCP); err != nil {
		return err
	}
	if !ovs.IsDynamic(a.Profiles.BridgeIP, networkmanager.IPv4) || len(a.Backup.IPv4.Addresses) == 0 {
		return a.tidyTables() // nothing was kept for the time until there is a lease
	}
	if err := a.waitForLease(ctx); err != nil {
		return err
	}
	if err := a.reapply(ctx, ovs.WithoutAutoconnect(a.Profiles.BridgeIP)); err != nil {
		return err
	}
	if err := a.waitForLease(ctx); err != nil {
		return err
	}
	return a.tidyTables()
}

func (a *migration) reapply(ctx context.Context, settings networkmanager.Settings) error {
	if err := a.NM.UpdateProfile(ctx, a.added[ovs.BridgeIPProfile], settings, networkmanager.InMemory); err != nil {
		return err
	}
	device, err := a.NM.Carrier(ctx, ovs.BridgeName)
	if err != nil {
		return err
	}
	return a.NM.Reapply(ctx, device, nil)
}

func (a *migration) waitForLease(ctx context.Context) error {
	return poll(ctx, "the DHCP server to answer on br-ex", func() (bool, error) {
		device, err := a.NM.Carrier(ctx, ovs.BridgeName)
		return len(device.IPv4.LeasedAddresses()) > 0, err
	})
}

func (a *migration) activate(ctx context.Context, name string, device networkmanager.Device) error {
	if err := a.NM.ActivateProfile(ctx, a.added[name], device); err != nil {
		return fmt.Errorf("bringing up %s: %w", name, err)
	}
	return nil
}

// save saves the profiles: first all of them without autoconnect, the bridge
// last, so that no half set can be brought up at boot; then with it.
func (a *migration) save(ctx context.Context) error {
	p := a.Profiles
	ordered := append([]networkmanager.Settings{p.NICPort, p.BridgePort, p.NIC, p.BridgeIP}, p.Members...)
	ordered = append(ordered, p.Bridge)
	for _, finish := range []func(networkmanager.Settings) networkmanager.Settings{ovs.WithoutAutoconnect, asIs} {
		for _, profile := range ordered {
			ref := a.added[profile.Text("connection", "id")]
			if err := a.NM.UpdateProfile(ctx, ref, finish(profile), networkmanager.ToDisk); err != nil {
				return err
			}
		}
	}
	return a.Tree.SyncFileSystem("/etc") // NetworkManager does not
}

// commit makes the move count. The checkpoint goes before the journal: should
// its time be over meanwhile, NetworkManager has gone back already and says so
// here.
func (a *migration) commit(ctx context.Context) error {
	if err := a.NM.DestroyCheckpoint(ctx, a.checkpoint); err != nil {
		return err
	}
	if err := a.journal().close(); err != nil {
		return err
	}
	if err := a.stopRollbackTimer(context.WithoutCancel(ctx)); err != nil {
		a.log.Note(err.Error() + "; it does nothing any more, and ends by itself")
	}
	return nil
}

func asIs(s networkmanager.Settings) networkmanager.Settings { return s }
