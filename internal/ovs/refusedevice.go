package ovs

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// refuseDevice refuses an uplink that cannot be attached to br-ex.
func refuseDevice(facts Facts, link hostnet.Link, device networkmanager.Device, known bool) error {
	if err := refuseKind(link, device); err != nil {
		return err
	}
	if !known || !device.Managed {
		return Refuse(report.Remedyf("nmcli device set %s managed yes", link.Name), "NetworkManager does not manage the uplink %s", link.Name)
	}
	if link.Master != 0 {
		return refuseMember(facts, link)
	}
	if err := refuseName(link.Name); err != nil {
		return err
	}
	if device.Active.State == networkmanager.Activating {
		return refuseUnconfirmedAddresses(link.Name)
	}
	if device.Active.UUID == "" || device.Active.State != networkmanager.Activated {
		return Refuse(report.Remedy("nmcli device connect "+link.Name), "the uplink %s has no active NetworkManager profile", link.Name)
	}
	return nil
}

// refuseUnconfirmedAddresses refuses an uplink whose addresses are not confirmed: while it is
// being activated, or after a rollback that has kept them (see
// Driver.holdAddress in package migrate).
func refuseUnconfirmedAddresses(uplink string) error {
	return Refuse(report.Remedyf("nmcli device reapply %s # once its DHCP server or router answers, then run the same command again", uplink),
		"the uplink %s is still coming up: NetworkManager waits for an answer of its DHCP server or router", uplink)
}

// refuseMember refuses an uplink that is a port of another interface.
func refuseMember(facts Facts, link hostnet.Link) error {
	master, _ := facts.linkAt(link.Master)
	if master.Kind == "vrf" {
		return Refuse("hcp-node-agent join --bridge-interface NAME",
			"the uplink %s is in the VRF %s, where kubelet and OVN-Kubernetes would not find its routes; take it out, or name another interface", link.Name, master.Name)
	}
	name := master.Name
	if name == "" {
		name = "another interface"
	}
	return Refuse(report.Remedy("ip -d link show "+link.Name),
		"the uplink %s is part of %s; name the interface above it with --bridge-interface", link.Name, name)
}

// otherInterfaceRemedy is the remedy when the interface itself cannot be used.
const otherInterfaceRemedy = "hcp-node-agent join --bridge-interface NAME"

// refuseKind refuses the types of interface that cannot be a port of a bridge,
// or whose migration is not supported.
func refuseKind(link hostnet.Link, device networkmanager.Device) error {
	why, remedy := "", report.Remedy(otherInterfaceRemedy)
	switch device.Type {
	case networkmanager.Ethernet, networkmanager.Veth, networkmanager.VLAN, networkmanager.Bond:
	case networkmanager.WiFi:
		why = "a wireless interface: access points drop frames of any other MAC than its own, so it cannot be a port of a bridge; name a wired interface"
	case networkmanager.InfiniBand:
		why = "an InfiniBand interface, which carries no Ethernet frames, so it cannot be a port of a bridge; name an Ethernet interface"
	case networkmanager.Bridge:
		why, remedy = "a Linux bridge, and Open vSwitch takes none as a port; give its addresses to the interface below it, which br-ex can take", "bridge link show"
	case networkmanager.Team:
		why, remedy = "a team, which RHEL has given up; make it a bond first (team2bond translates the configuration)",
			"nmcli connection add type bond con-name bond0 ifname bond0 bond.options mode=active-backup,miimon=100"
	case networkmanager.MACVLAN:
		why, remedy = "a macvlan interface, which takes only frames to its own MAC, and pods have others; name the interface that it is on", report.Remedy("ip -d link show "+link.Name)
	case networkmanager.TUN, networkmanager.WireGuard, networkmanager.IPTunnel:
		why = "a tunnel; OVN-Kubernetes needs an interface of the network that the nodes share; name one"
	case networkmanager.Dummy:
		why = "a dummy interface, which leads nowhere; name an interface with a cable"
	case networkmanager.PPP:
		why = "a point-to-point link, which carries no Ethernet frames; name an Ethernet interface"
	default:
		if device.Type != 0 {
			why = fmt.Sprintf("a device of NetworkManager type %d, which this version cannot put into br-ex; make br-ex yourself (nmstate, configure-ovs.sh) and run this again, or name another interface", device.Type)
		} else if link.Kind == "ppp" { // NetworkManager reports it under the name of the modem or of the NIC below
			why = "a point-to-point link, which carries no Ethernet frames; name an Ethernet interface"
		}
	}
	if why == "" {
		return nil
	}
	return Refuse(remedy, "the uplink %s is %s", link.Name, why)
}

// refuseName refuses names with characters that shells and systemd treat
// specially, because the rollback script and the boot unit contain the names.
func refuseName(name string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-:@+", r)
	}
	if strings.TrimFunc(name, plain) != "" || strings.HasPrefix(name, "-") {
		return Refuse("ip link set dev ...", "the name of the interface %q has a character that systemd and shells treat specially; rename the interface", name)
	}
	return nil
}
