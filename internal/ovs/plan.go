package ovs

import (
	"net/netip"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// BridgeName is the bridge that OVN-Kubernetes expects around the uplink.
const BridgeName = "br-ex"

// Move is the decision: what goes into br-ex, by which profiles. It is a value.
type Move struct {
	AlreadyThere bool   `json:"alreadyThere"` // br-ex carries the host already; nothing to do
	Uplink       string `json:"uplink"`

	Origin   Origin        `json:"origin"`   // what the way back needs
	Profiles Profiles      `json:"profiles"` // as they shall be in the end
	Bring    BridgeIPSteps `json:"bring"`    // what ovs-if-br-ex is on its way there

	Gateway     netip.Addr   `json:"gateway"`
	Stable      []netip.Addr `json:"stable"` // addresses that br-ex shall have afterwards
	Nameservers []netip.Addr `json:"nameservers,omitempty"`

	options Options // that it was decided with
}

// BridgeIPSteps are the settings of ovs-if-br-ex that come before the last.
type BridgeIPSteps struct {
	Copy  networkmanager.Settings `json:"copy"`  // the address as it is, with a metric worse than the NIC's
	Lease networkmanager.Settings `json:"lease"` // DHCP, while the copy is kept until the lease is there
}

// Plan decides what is to be done about br-ex: nothing, a move, or a refusal
// that names the command which mends the cause. It touches nothing.
func Plan(facts Facts, options Options) (Move, error) {
	if err := refuseSoftware(facts); err != nil {
		return Move{}, err
	}
	if uplink, ok := bridgedUplink(facts); ok {
		if options.BridgeInterface != "" && options.BridgeInterface != uplink && options.BridgeInterface != BridgeName {
			return Move{}, report.Fail(report.Refused, "hcp-node-agent leave",
				"br-ex is there already around %s, but --bridge-interface names %s; leave the option out, or undo the first join", uplink, options.BridgeInterface)
		}
		move := already(facts, uplink)
		move.options = options
		return move, nil
	}
	if err := refuseForeignBridge(facts); err != nil {
		return Move{}, err
	}
	uplink, err := chooseUplink(facts, options)
	if err != nil {
		return Move{}, err
	}
	move, err := planMove(facts, uplink)
	move.options = options
	return move, err
}

func planMove(facts Facts, uplink string) (Move, error) {
	link, _ := facts.link(uplink)
	device, known := facts.device(uplink)
	if err := refuseDevice(facts, link, device, known); err != nil {
		return Move{}, err
	}
	original, _ := facts.profile(device.Active.UUID)
	if err := refuseProfile(uplink, original); err != nil {
		return Move{}, err
	}
	identity, err := keepIPv6(link)
	if err != nil {
		return Move{}, err
	}
	priority, err := autoconnectPriority(facts, uplink, original.Settings.Text("connection", "type"))
	if err != nil {
		return Move{}, err
	}
	members, err := planMembers(facts, device, original)
	if err != nil {
		return Move{}, err
	}
	profiles := newProfiles(plan{
		machine: facts.MachineID, link: link, device: device, original: original.Settings,
		identity: identity, priority: priority, pinMAC: ownMAC(facts, link), members: members,
		cardMAC: cardMAC(facts, link, original.Settings),
	})
	route, _ := routeOf(facts.Routes, 4, uplink)
	move := Move{
		Uplink: uplink, Profiles: profiles, Gateway: device.IPv4.Gateway, Nameservers: device.IPv4.Nameservers,
		Origin: Origin{
			Uplink: uplink, UUID: original.UUID(), ID: original.ID(), Settings: original.Settings,
			Passing: original.Passing(), IPv4: device.IPv4, Ours: profiles.UUIDs(),
			Members: plainMembers(members), InPlace: keepsProfile(device),
		},
		Bring: BridgeIPSteps{
			Copy:  copyStep(profiles.BridgeIP, device.IPv4, route.Metric),
			Lease: leaseStep(profiles.BridgeIP, device.IPv4),
		},
		Stable: stableAddresses(link, device),
	}
	return move, nil
}

// bridgedUplink tells whether br-ex carries the host's default route, and
// which NIC is in it; who made it (configure-ovs.sh, nmstate, an earlier run)
// does not matter.
func bridgedUplink(facts Facts) (string, bool) {
	bridge, ok := facts.bridge()
	if !ok {
		return "", false
	}
	route, ok := bestRoute(facts.Routes, 4)
	if !ok {
		route, ok = bestRoute(facts.Routes, 6)
	}
	link, _ := facts.link(BridgeName)
	device, known := facts.device(BridgeName)
	if !ok || route.Link != BridgeName || len(link.Addresses) == 0 || (known && device.Active.State != networkmanager.Activated) {
		return "", false
	}
	for _, port := range bridge.Interfaces {
		if port.Name != BridgeName && (port.Type == "system" || port.Name == bridge.ExternalIDs["bridge-uplink"]) {
			return port.Name, true
		}
	}
	return "", false
}

func already(facts Facts, uplink string) Move {
	link, _ := facts.link(BridgeName)
	device, _ := facts.device(BridgeName)
	return Move{
		AlreadyThere: true, Uplink: uplink, Gateway: device.IPv4.Gateway, Nameservers: device.IPv4.Nameservers,
		Stable: stableAddresses(link, device),
		Origin: Origin{Uplink: uplink, Ours: newUUIDs(facts.MachineID)},
	}
}

// stableAddresses are those that peers know the host by.
func stableAddresses(link host.Link, device networkmanager.Device) []netip.Addr {
	var stable []netip.Addr
	for _, prefix := range device.IPv4.Addresses {
		stable = append(stable, prefix.Addr())
	}
	for _, prefix := range link.Lasting() {
		if prefix.Addr().Is6() {
			stable = append(stable, prefix.Addr())
		}
	}
	return stable
}

// leftovers tells whether profiles of ours, or a bridge, are there from before
// although br-ex does not carry the host: somebody has brought the original
// profile up again by hand.
func leftovers(facts Facts, o Origin) bool {
	_, bridge := facts.bridge()
	return bridge || len(o.ours(facts.Profiles)) > 0
}
