package ovs

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// renaming is what is left to do about a br-ex of ours whose NIC has another
// name since a boot. It carries the host, but OVN-Kubernetes takes the port's
// name for the interface's, and mtu-migration.sh the profile's.
type renaming struct {
	now, port string // the NIC's name, and its port's
}

// renamed tells whether the names in br-ex are those of an earlier boot.
func renamed(facts Facts) (renaming, bool) {
	uplink, ok := bridgedUplink(facts)
	bridge, _ := facts.bridge()
	if !ok || bridge.ExternalIDs["NM.connection.uuid"] != newUUID(facts.MachineID, bridgeProfile) {
		return renaming{}, false
	}
	r := renaming{now: uplink, port: uplink}
	for _, port := range bridge.Interfaces {
		if port.Name == uplink && port.Port != "" {
			r.port = port.Port
		}
	}
	return r, r.port != uplink || bridge.ExternalIDs["bridge-uplink"] != uplink
}

// profiles are those that name the NIC, as they shall be.
func (r renaming) profiles(facts Facts) []networkmanager.Profile {
	var mended []networkmanager.Profile
	for _, name := range []string{bridgeProfile, nicPortProfile, nicProfile} {
		profile, ok := facts.profile(newUUID(facts.MachineID, name))
		if !ok {
			continue
		}
		profile.Settings = profile.Settings.Clone()
		if name == bridgeProfile {
			profile.Settings.Set("ovs-external-ids", "data", map[string]string{"bridge-uplink": r.now})
		} else {
			profile.Settings.Set("connection", "interface-name", r.now)
		}
		mended = append(mended, profile)
	}
	return mended
}

// MendNames gives a br-ex whose NIC has another name since a boot the right
// names, for the next boots too; without such a NIC it does nothing. What the
// NIC carries pauses while its port is made anew, and is not moved.
func (d *Driver) MendNames(ctx context.Context, facts Facts) error {
	r, ok := renamed(facts)
	if !ok {
		return nil
	}
	d.log.Note("the uplink is called " + r.now + " since this boot; naming its port and profiles so")
	for _, profile := range r.profiles(facts) {
		if err := d.NM.UpdateProfile(ctx, profile.Ref, profile.Settings, networkmanager.ToDisk); err != nil {
			return err
		}
	}
	if err := d.Tree.SyncFileSystem("/etc"); err != nil {
		return err
	}
	if r.port == r.now {
		return openvswitch.NameUplink(ctx, BridgeName, r.now)
	}
	return openvswitch.Rename(ctx, openvswitch.Renamed{
		Bridge: BridgeName, Port: r.port, NIC: r.now, PortProfile: newUUID(facts.MachineID, nicPortProfile),
	})
}
