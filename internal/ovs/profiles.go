// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"crypto/sha256"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
)

// The profile names that configure-ovs.sh, mtu-migration.sh, must-gather and
// other tools use.
const (
	BridgeProfile     = "br-ex"
	NICPortProfile    = "ovs-port-phys0"
	bridgePortProfile = "ovs-port-br-ex"
	NICProfile        = "ovs-if-phys0"
	BridgeIPProfile   = "ovs-if-br-ex"
)

// ProfileDirectories are the directories of NetworkManager's profiles,
// separated by a space. The second belongs to the ifcfg-rh plugin, the default
// for profiles of Ethernet interfaces on RHEL 8.
const ProfileDirectories = "/etc/NetworkManager/system-connections /etc/sysconfig/network-scripts"

// bridgeMetric is the value of configure-ovs.sh: lower than any default of
// NetworkManager (100 for Ethernet).
const bridgeMetric = 48

// Profiles are the five profiles of br-ex, and those of a bond's ports.
type Profiles struct {
	Bridge     networkmanager.Settings `json:"br-ex"`
	NICPort    networkmanager.Settings `json:"ovs-port-phys0"`
	BridgePort networkmanager.Settings `json:"ovs-port-br-ex"`
	NIC        networkmanager.Settings `json:"ovs-if-phys0"`
	BridgeIP   networkmanager.Settings `json:"ovs-if-br-ex"`

	Members []networkmanager.Settings `json:"members,omitempty"`
}

// List returns all profiles, the bridge first and the one with the addresses
// last.
func (p Profiles) List() []networkmanager.Settings {
	list := append([]networkmanager.Settings{p.Bridge, p.NICPort, p.BridgePort, p.NIC}, p.Members...)
	return append(list, p.BridgeIP)
}

// UUIDs returns the profiles' UUIDs by name.
func (p Profiles) UUIDs() map[string]string {
	uuids := map[string]string{}
	for _, profile := range p.List() {
		uuids[profile.Text("connection", "id")] = profile.Text("connection", "uuid")
	}
	return uuids
}

// ProfileUUIDs returns the UUIDs of the agent's profiles by name. They are
// derived from the machine ID, so that a later run recognizes the profiles
// without stored state.
func ProfileUUIDs(machineID string) map[string]string {
	uuids := map[string]string{}
	for _, name := range []string{BridgeProfile, NICPortProfile, bridgePortProfile, NICProfile, BridgeIPProfile} {
		uuids[name] = ProfileUUID(machineID, name)
	}
	return uuids
}

// ProfileUUID returns the UUID of one of the agent's profiles, derived from the
// machine ID and the profile's name.
func ProfileUUID(machineID, name string) string {
	b := sha256.Sum256([]byte("hcp-node-agent " + name + " " + machineID))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8, RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// profileInputs contains the inputs of newProfiles.
type profileInputs struct {
	facts    Facts
	link     hostnet.Link
	device   networkmanager.Device
	original networkmanager.Profile
	now      nmprofile.IPState
	identity identity
	priority int32
	metrics  map[networkmanager.Family]int64 // of br-ex's routes
	members  []memberInputs
}

// memberInputs contains the inputs for the profile of a bond's port.
type memberInputs struct {
	Member
	priority     int32
	permanentMAC []byte
}

func newProfiles(p profileInputs) Profiles {
	uuids := ProfileUUIDs(p.facts.MachineID)
	connection := func(name, kind, device string) networkmanager.Settings {
		return newConnection(name, kind, device, p.facts.MachineID)
	}
	bridge := connection(BridgeProfile, "ovs-bridge", BridgeName)
	bridge["ovs-bridge"] = nil
	bridge.Set("802-3-ethernet", "mtu", p.device.MTU)
	// OVN-Kubernetes searches the uplink here, or for the only interface of type
	// "system" (nicstobridge.go). Without both it uses the bridge's name without
	// "br".
	bridge.Set("ovs-external-ids", "data", map[string]string{"bridge-uplink": p.link.Name})

	nicPort := connection(NICPortProfile, "ovs-port", p.link.Name)
	nicPort["ovs-port"] = nil
	bridgePort := connection(bridgePortProfile, "ovs-port", BridgeName)
	bridgePort["ovs-port"] = nil
	// The controller is the interface's name and not the profile's UUID, because
	// OpenShift's 10-ofport-request.sh compares the name (release 4.14).
	for _, port := range []networkmanager.Settings{nicPort, bridgePort} {
		makePortOf(port, BridgeName, "ovs-bridge")
	}

	nic := nicSettings(p)
	copyIdentity(nic, connection(NICProfile, p.original.Settings.Text("connection", "type"), p.link.Name))
	makePortOf(nic, uuids[NICPortProfile], "ovs-port")
	if atLeast(p.facts.NetworkManager.Version, 1, 42) { // older versions do not have the property
		nic.Set("ovs-interface", "type", "system")
		nic.Set("ovs-interface", "ofport-request", uint32(openvswitch.UplinkPort))
	}
	bridgeIP := bridgeIPSettings(p)
	copyIdentity(bridgeIP, connection(BridgeIPProfile, "ovs-interface", BridgeName))
	makePortOf(bridgeIP, uuids[bridgePortProfile], "ovs-port")

	nic.Set("connection", "autoconnect-priority", p.priority)
	profiles := Profiles{Bridge: bridge, NICPort: nicPort, BridgePort: bridgePort, NIC: nic, BridgeIP: bridgeIP}
	if mac := uniquePermanentMAC(p.facts, p.link, p.original.Settings); mac != nil {
		// bootunits.UpdateUplinkName finds the NIC by its MAC. The profile cannot be activated on
		// another NIC that got the name.
		nic.Set("802-3-ethernet", "mac-address", mac)
	}
	for _, m := range p.members {
		profiles.Members = append(profiles.Members, memberSettings(m, p.facts.MachineID, uuids[NICProfile]))
	}
	for _, s := range profiles.List() {
		s.Set("connection", "autoconnect", true)
	}
	// Retry forever, because a NIC or a DHCP server can be late. The NIC and its
	// members are the exception: if Open vSwitch does not run at boot,
	// NetworkManager must give up on them and activate the original profiles.
	for _, s := range []networkmanager.Settings{bridge, nicPort, bridgePort, bridgeIP} {
		s.Set("connection", "autoconnect-retries", int32(0))
	}
	// At boot the bridge activates its ports, and the ports their interfaces, so
	// that a profile from ip= kernel arguments cannot be activated on the NIC
	// first.
	pulling := []networkmanager.Settings{bridge, nicPort, bridgePort}
	if len(p.members) > 0 {
		pulling = append(pulling, nic)
	}
	for _, s := range pulling {
		s.Set("connection", "autoconnect-slaves", int32(1))
	}
	return profiles
}

func newConnection(name, kind, device, machineID string) networkmanager.Settings {
	s := networkmanager.Settings{}
	s.Set("connection", "id", name)
	s.Set("connection", "uuid", ProfileUUID(machineID, name))
	s.Set("connection", "type", kind)
	s.Set("connection", "interface-name", device)
	return s
}

func makePortOf(s networkmanager.Settings, master, kind string) {
	s.Set("connection", "master", master)
	s.Set("connection", "slave-type", kind)
}

// copyIdentity copies the connection properties of another profile.
func copyIdentity(s, identity networkmanager.Settings) {
	for name, v := range identity["connection"] {
		s.Set("connection", name, v.Value())
	}
}
