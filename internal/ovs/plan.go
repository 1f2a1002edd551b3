// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/hostrules"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// BridgeName is the bridge that OVN-Kubernetes expects the uplink in.
const BridgeName = openvswitch.ExternalBridge

// Migration describes how the uplink is attached to br-ex: the decision of
// Plan, as a plain value.
type Migration struct {
	AlreadyAttached bool   `json:"alreadyAttached"` // br-ex already carries the host's traffic; nothing to do
	Uplink          string `json:"uplink"`

	Backup   Backup                   `json:"backup"`         // for a rollback
	Profiles Profiles                 `json:"profiles"`       // the final profiles
	Staged   nmprofile.StagedProfiles `json:"stagedProfiles"` // the intermediate settings of ovs-if-br-ex

	// The uplink's addressing, which br-ex must have afterwards.
	AddressState
	// Source names the setting or route that selected the uplink.
	Source string `json:"source,omitempty"`
	// Notes describe what will differ from the state before.
	Notes []string `json:"notes,omitempty"`
	// Warnings are about configuration of the host outside NetworkManager.
	Warnings []hostrules.Warning `json:"warnings,omitempty"`
	// Access lists connections that the packet filter must accept on br-ex, as it does on the uplink.
	Access []packetfilter.Connection `json:"access,omitempty"`
}

// Plan decides what to do about br-ex: nothing, a migration, or a refusal that
// names the command which fixes the cause. It changes nothing.
func Plan(facts Facts, options Options) (Migration, error) {
	if err := refuseSoftware(facts, options); err != nil {
		return Migration{}, err
	}
	if uplink, ok := BridgedUplink(facts); ok {
		selected, _ := facts.namedLink(options.BridgeInterface)
		if name := cmp.Or(selected.Name, options.BridgeInterface); name != "" && name != uplink && name != BridgeName {
			return Migration{}, report.Fail(report.Refused, "hcp-node-agent leave",
				"br-ex already exists with uplink %s, but --bridge-interface is %s; omit the flag, or revert the first join",
				uplink, options.BridgeInterface)
		}
		if _, isOwn := facts.Profile(ProfileUUID(facts.MachineID, BridgeIPProfile)); isOwn {
			if _, err := options.Declared.bridge(facts, uplink); err != nil {
				return Migration{}, err
			}
		}
		return Migration{
			AlreadyAttached: true,
			Uplink:          uplink,
			AddressState:    AddressStateOf(facts, BridgeName),
			Backup:          Backup{Uplink: uplink, ProfileUUIDs: ProfileUUIDs(facts.MachineID)},
		}, nil
	}
	if err := refuseForeignBridge(facts); err != nil {
		return Migration{}, err
	}
	choice, err := chooseUplink(facts, options)
	if err != nil {
		return Migration{}, err
	}
	return planMigration(facts, choice, options)
}

func planMigration(facts Facts, choice uplinkChoice, options Options) (Migration, error) {
	p, err := newProfileInputs(facts, choice.name)
	if err != nil {
		return Migration{}, err
	}
	declared, err := options.Declared.match(facts, choice.name)
	if err != nil {
		return Migration{}, err
	}
	uplink := hostrules.Uplink{Link: p.link, Profile: p.original}
	access, err := keptAccess(facts, uplink, options)
	if err != nil {
		return Migration{}, err
	}
	notes := overriddenRouteNotes(facts, choice.name, p.metrics)
	for _, prefix := range p.identity.extraAddresses {
		notes = append(notes, fmt.Sprintf("%s is kept as a static address: its interface identifier differs from that of "+
			"the first autoconfigured address and depends on the interface name", prefix))
	}
	if facts.NodeIPHint != "" && !nodeip.HasHinted(facts.Links, facts.NodeIPHint) {
		why := "is in no subnet of this host"
		if !nodeip.HasAddress(facts.NodeIPHint) {
			why = "is no IP address"
		}
		notes = append(notes, fmt.Sprintf("NODEIP_HINT %q %s and has no effect: the node IP is that of the default route",
			facts.NodeIPHint, why))
	}
	profiles, state := newProfiles(p), AddressStateOf(facts, choice.name)
	if declared != nil && declared.MulticastSnooping {
		profiles.Bridge.Set("ovs-bridge", "mcast-snooping-enable", true)
	}
	return Migration{
		Uplink:       choice.name,
		Source:       choice.source,
		Profiles:     profiles,
		Staged:       nmprofile.NewStagedProfiles(profiles.BridgeIP, p.now, hasCompetingRoute(facts, choice.name)),
		AddressState: state,
		Notes:        notes,
		Warnings:     facts.HostRules.Warnings(uplink, bridgeSysctls),
		Access:       access,
		Backup: Backup{
			Uplink:       choice.name,
			UUID:         p.original.UUID(),
			ID:           p.original.ID(),
			Settings:     p.original.Settings,
			Volatile:     p.original.IsVolatile(),
			IPv4:         p.now[networkmanager.IPv4],
			IPv6:         p.now[networkmanager.IPv6],
			AddressState: state,
			ProfileUUIDs: profiles.UUIDs(),
			Members:      lists.Map(p.members, func(m memberInputs) Member { return m.Member }),
			KeepsProfile: keepsProfileUntilReboot(p.device),
		},
	}, nil
}

// newProfileInputs returns the inputs for the profiles of an uplink, or the first reason to refuse
// the uplink.
func newProfileInputs(facts Facts, uplink string) (profileInputs, error) {
	p := profileInputs{facts: facts, metrics: map[networkmanager.Family]int64{}}
	p.link, _ = facts.Link(uplink)
	p.device, _ = facts.Device(uplink)
	p.original, _ = facts.Profile(p.device.Active.UUID)
	p.now = IPStateOf(facts, p.link, p.device)
	for _, check := range []func() error{
		func() error { return refuseDevice(facts, p.link, p.device) },
		func() error { return refuseProfile(facts, p.link, p.device, p.original) },
		func() error { return refuseFamilies(facts, p.link, p.original, p.now) },
		func() error { return refuseWithoutDefaultRoute(facts, uplink, p.original, p.now) },
		func() error { _, err := nodeAddresses(facts); return err },
		func() (err error) { p.identity, err = identify(p.link, p.device, p.original.Settings); return err },
		func() (err error) {
			p.priority, err = chooseAutoconnectPriority(facts, uplink, p.original.Settings.Text("connection", "type"))
			return err
		},
		func() (err error) { p.members, err = planMembers(facts, p.device, p.original); return err },
		func() (err error) { p.metrics[networkmanager.IPv4], err = chooseMetric(facts, uplink, 4); return err },
		func() (err error) { p.metrics[networkmanager.IPv6], err = chooseMetric(facts, uplink, 6); return err },
	} {
		if err := check(); err != nil {
			return profileInputs{}, err
		}
	}
	return p, nil
}

// IPStateOf returns the addressing of an interface by family, in the kernel's
// order and without the addresses that OVN-Kubernetes adds. IPv6 contains only
// non-temporary addresses.
//
// The order matters: the first IPv4 address of a subnet is the source address
// of outgoing packets. If NetworkManager has to change the order, it can lose
// the other addresses.
func IPStateOf(facts Facts, link hostnet.Link, device networkmanager.Device) nmprofile.IPState {
	v4 := withoutMasquerade(device.IPv4, link)
	slices.SortStableFunc(v4.Addresses, func(a, b netip.Prefix) int {
		return cmp.Compare(slices.Index(link.Addresses, a), slices.Index(link.Addresses, b))
	})
	v6 := device.IPv6
	v6.Addresses = nil
	for _, prefix := range link.Stable() {
		if prefix.Addr().Is6() {
			v6.Addresses = append(v6.Addresses, prefix)
		}
	}
	if route, ok := hostnet.DefaultRouteOf(facts.Routes, 6, link.Name); ok {
		v6.Gateway = route.Gateway
	}
	return nmprofile.IPState{networkmanager.IPv4: v4, networkmanager.IPv6: withoutMasquerade(v6, link)}
}

// BridgedUplink returns the NIC in br-ex, and reports whether br-ex has a
// default route of the host. It does not matter what has created br-ex:
// configure-ovs.sh, nmstate or an earlier run.
func BridgedUplink(facts Facts) (string, bool) {
	uplink, _ := bridgedUplink(facts)
	return uplink, uplink != ""
}

// bridgedUplink returns the NIC in br-ex, or what br-ex needs and does not have. It returns neither if br-ex does not
// exist.
func bridgedUplink(facts Facts) (string, BridgeRequirement) {
	bridge, ok := facts.bridge()
	if !ok {
		return "", ""
	}
	_, v4 := hostnet.DefaultRouteOf(facts.Routes, 4, BridgeName)
	_, v6 := hostnet.DefaultRouteOf(facts.Routes, 6, BridgeName)
	link, _ := facts.Link(BridgeName)
	device, known := facts.Device(BridgeName)
	switch {
	case len(link.Addresses) == 0:
		return "", BridgeAddress
	case known && device.Active.State != networkmanager.Activated:
		return "", BridgeConnection
	case !v4 && !v6:
		return "", BridgeDefaultRoute
	}
	for _, port := range bridge.Interfaces {
		if port.Name != BridgeName && (port.Type == "system" || port.Name == bridge.ExternalIDs["bridge-uplink"]) {
			return port.Name, ""
		}
	}
	return "", BridgePort
}

// HasLeftovers reports whether profiles of the agent, or a bridge, exist
// although br-ex does not carry the host's traffic. This happens when the
// administrator has activated the original profile again.
func HasLeftovers(facts Facts, backup Backup) bool {
	_, bridge := facts.bridge()
	return bridge || len(backup.OwnProfiles(facts.Profiles)) > 0
}
