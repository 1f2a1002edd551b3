package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
)

// Status describes the current state of br-ex.
type Status struct {
	Present   bool                    `json:"present"` // it exists and has the default route
	Exists    bool                    `json:"exists"`  // a bridge of that name exists, with or without the host's traffic
	Uplink    string                  `json:"uplink,omitempty"`
	Addresses []netip.Prefix          `json:"addresses,omitempty"`
	MTU       int                     `json:"mtu,omitempty"` // bytes
	Ports     []openvswitch.Interface `json:"ports,omitempty"`
	NodeIPs   []netip.Addr            `json:"nodeIPs,omitempty"` // the addresses of the node, the primary first
	Profile   *ProfileStatus          `json:"profile,omitempty"` // nil: no active profile, or no NetworkManager
	Record    *Record                 `json:"made,omitempty"`    // nil: the agent has not created br-ex
}

// ProfileStatus describes the active NetworkManager profile of br-ex.
type ProfileStatus struct {
	Name  string `json:"name"`
	UUID  string `json:"uuid"`
	State string `json:"state"`          // activating, activated, deactivating, deactivated
	File  string `json:"file,omitempty"` // "": in memory only, lost at a reboot
}

// GatherStatus reads the state of br-ex from the kernel, the Open vSwitch
// database and, if nm is not nil, NetworkManager. If only NetworkManager fails,
// it returns the rest of the status together with the error.
func GatherStatus(ctx context.Context, nm *networkmanager.Client) (Status, error) {
	facts, err := Gather(ctx, nm)
	if err != nil && nm != nil {
		var without error
		if facts, without = Gather(ctx, nil); without != nil {
			return Status{}, without
		}
		return statusOf(facts), err
	}
	if err != nil {
		return Status{}, err
	}
	return statusOf(facts), nil
}

func statusOf(facts Facts) Status {
	var s Status
	if bridge, ok := facts.bridge(); ok {
		s.Exists, s.Ports = true, bridge.Interfaces
	}
	s.Profile = profileStatus(facts)
	uplink, ok := BridgedUplink(facts)
	if !ok {
		return s
	}
	link, _ := facts.Link(BridgeName)
	s.Present, s.Uplink, s.Addresses, s.MTU = true, uplink, link.Stable(), link.MTU
	s.NodeIPs = nodeip.Choose(facts.Links, facts.Routes, facts.NodeIPHint).All()
	return s
}

func profileStatus(facts Facts) *ProfileStatus {
	device, ok := facts.Device(BridgeName)
	profile, found := facts.Profile(device.Active.UUID)
	if !ok || !found {
		return nil
	}
	return &ProfileStatus{Name: profile.ID(), UUID: profile.UUID(), State: stateName(device.Active.State), File: profile.File}
}

func stateName(state networkmanager.ActiveState) string {
	switch state {
	case networkmanager.Activating:
		return "activating"
	case networkmanager.Activated:
		return "activated"
	case networkmanager.Deactivating:
		return "deactivating"
	case networkmanager.Deactivated:
		return "deactivated"
	}
	return "in an unknown state"
}

// String returns the status as one line of text.
func (s Status) String() string {
	switch {
	case s.Present:
		return fmt.Sprintf("%s is in br-ex with %s", s.Uplink, JoinOrNone(s.Addresses))
	case s.Exists:
		return "br-ex is there, and does not carry the host: it has no address, no default route or no uplink"
	}
	return "br-ex is not there"
}

// Details returns further lines with what String omits.
func (s Status) Details() []string {
	if !s.Exists {
		return nil
	}
	ports := make([]string, 0, len(s.Ports))
	for _, port := range s.Ports {
		kind := port.Type
		if kind == "" {
			kind = "system" // ovs-vsctl reports "" for it
		}
		ports = append(ports, fmt.Sprintf("%s (%s)", port.Name, kind))
	}
	var lines []string
	if len(ports) > 0 {
		lines = append(lines, "ports "+strings.Join(ports, ", "))
	}
	if s.Present {
		lines = append(lines, fmt.Sprintf("MTU %d, node IP %s", s.MTU, JoinOrNone(s.NodeIPs)))
	}
	if p := s.Profile; p != nil {
		kept := "not on disk: it is gone after a reboot"
		if p.File != "" {
			kept = "in " + p.File
		}
		lines = append(lines, fmt.Sprintf("NetworkManager profile %s is %s, %s", p.Name, p.State, kept))
	}
	if s.Record != nil {
		lines = append(lines, s.Record.String())
	}
	return lines
}
