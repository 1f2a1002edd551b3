// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Status describes the current state of br-ex.
type Status struct {
	Present   bool                    `json:"present" doc:"whether br-ex exists and has the default route"`
	Exists    bool                    `json:"exists" doc:"whether br-ex exists, with or without the host's traffic"`
	Missing   BridgeRequirement       `json:"missing,omitempty" doc:"what br-ex needs to carry the host's traffic, and does not have"`
	Uplink    string                  `json:"uplink,omitempty" doc:"interface in br-ex; absent unless present"`
	Addresses []netip.Prefix          `json:"addresses,omitempty" doc:"addresses of br-ex with their prefix lengths"`
	MTU       int                     `json:"mtu,omitempty" doc:"MTU of br-ex in bytes"`
	Ports     []openvswitch.Interface `json:"ports,omitempty" doc:"Open vSwitch interfaces of br-ex"`
	NodeIPs   []netip.Addr            `json:"nodeIPs,omitempty" doc:"addresses of the node, the primary address first"`
	Profile   *ProfileStatus          `json:"profile,omitempty" doc:"active NetworkManager profile of br-ex, if known"`
	Migration *Record                 `json:"migration,omitempty" doc:"migration, if the agent has created br-ex"`
}

// BridgeRequirement is a property that br-ex needs to carry the host's traffic.
type BridgeRequirement string

// The requirements.
const (
	BridgeAddress      BridgeRequirement = "address"
	BridgeConnection   BridgeRequirement = "active connection"
	BridgeDefaultRoute BridgeRequirement = "default route"
	BridgePort         BridgeRequirement = "uplink"
)

// Enum returns all requirements.
func (BridgeRequirement) Enum() []string {
	return schema.Strings(BridgeAddress, BridgeConnection, BridgeDefaultRoute, BridgePort)
}

// ProfileStatus describes the active NetworkManager profile of br-ex.
type ProfileStatus struct {
	Name  string       `json:"name" doc:"name of the profile"`
	UUID  string       `json:"uuid" doc:"UUID of the profile"`
	State ProfileState `json:"state" doc:"state of the active connection"`
	File  string       `json:"file,omitempty" doc:"path of the profile; absent if a reboot discards the profile"`
}

// ProfileState is the state of an active connection.
type ProfileState string

// profileStates lists the states by networkmanager.ActiveState.
var profileStates = []string{"unknown", "activating", "activated", "deactivating", "deactivated"}

// Enum returns all states.
func (ProfileState) Enum() []string { return profileStates }

// GatherStatus reads the state of br-ex from the kernel, the Open vSwitch
// database and, if nm is not nil, NetworkManager. If only NetworkManager fails,
// it returns the rest of the status together with the error.
func GatherStatus(ctx context.Context, nm networkmanager.Reader) (Status, error) {
	facts, err := Gather(ctx, nm)
	if err != nil {
		var errWithout error
		if facts, errWithout = Gather(ctx, nil); errWithout != nil {
			return Status{}, errWithout
		}
	}
	return StatusOf(facts), err
}

// StatusOf returns the state of br-ex according to the facts.
func StatusOf(facts Facts) Status {
	var s Status
	if bridge, ok := facts.bridge(); ok {
		s.Exists, s.Ports = true, bridge.Interfaces
	}
	s.Profile = profileStatus(facts)
	uplink, missing := bridgedUplink(facts)
	if uplink == "" {
		s.Missing = missing
		return s
	}
	link, _ := facts.Link(BridgeName)
	s.Present, s.Uplink, s.Addresses, s.MTU = true, uplink, link.Stable(), link.MTU
	node, _ := nodeAddresses(facts)
	s.NodeIPs = node.All()
	return s
}

func profileStatus(facts Facts) *ProfileStatus {
	device, ok := facts.Device(BridgeName)
	profile, found := facts.Profile(device.Active.UUID)
	if !ok || !found {
		return nil
	}
	state := min(int(device.Active.State), len(profileStates)-1)
	return &ProfileStatus{
		Name: profile.ID(), UUID: profile.UUID(), State: ProfileState(profileStates[state]), File: profile.File,
	}
}

// String returns the status as one line of text.
func (s Status) String() string {
	switch {
	case s.Present:
		return fmt.Sprintf("%s is in br-ex with %s", s.Uplink, nodeip.Format(s.Addresses))
	case s.Exists:
		return "br-ex exists but does not carry the host's traffic: it has no " + string(s.Missing)
	}
	return "br-ex does not exist"
}

// Details returns further lines with what String omits.
func (s Status) Details() []string {
	if !s.Exists {
		return nil
	}
	ports := make([]string, 0, len(s.Ports))
	for _, port := range s.Ports {
		kind := cmp.Or(port.Type, "system") // ovs-vsctl reports "" for it
		ports = append(ports, fmt.Sprintf("%s (%s)", port.Name, kind))
	}
	var lines []string
	if len(ports) > 0 {
		lines = append(lines, "ports "+strings.Join(ports, ", "))
	}
	if s.Present {
		lines = append(lines, fmt.Sprintf("MTU %d, node IP %s", s.MTU, nodeip.Format(s.NodeIPs)))
	}
	if p := s.Profile; p != nil {
		kept := "not saved to disk: it is lost at a reboot"
		if p.File != "" {
			kept = "in " + p.File
		}
		lines = append(lines, fmt.Sprintf("NetworkManager profile %s is %s, %s", p.Name, p.State, kept))
	}
	if s.Migration != nil {
		lines = append(lines, s.Migration.String())
	}
	return lines
}
