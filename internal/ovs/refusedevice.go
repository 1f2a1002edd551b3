// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// refuseDevice refuses an uplink that cannot be attached to br-ex.
func refuseDevice(facts Facts, link hostnet.Link, device networkmanager.Device) error {
	if err := refuseKind(link, device); err != nil {
		return err
	}
	if !device.Managed {
		remedy := report.Remedyf("nmcli device set %s managed yes", link.Name)
		return refuseUnconfigured(facts, link, device, remedy, "NetworkManager does not manage the uplink %s", link.Name)
	}
	if link.Master != 0 {
		return refuseMember(facts, link)
	}
	if upper, found := find(facts.Links, func(l hostnet.Link) bool {
		return l.SharesParent() && l.Parent == link.Index
	}); found {
		return Refuse(report.Remedy("ip -d link show "+upper.Name),
			"the %s interface %s is above the uplink %s, which therefore cannot be a port of Open vSwitch; use another "+
				"interface for one of them", upper.Kind, upper.Name, link.Name)
	}
	if err := refuseName(link.Name); err != nil {
		return err
	}
	if device.Active.State == networkmanager.Activating {
		return refuseUnconfirmedAddresses(link.Name)
	}
	if device.Active.UUID == "" || device.Active.State != networkmanager.Activated {
		return refuseUnconfigured(facts, link, device, report.Remedy("nmcli device connect "+link.Name),
			"the uplink %s has no active NetworkManager profile", link.Name)
	}
	return nil
}

// refuseUnconfigured refuses an uplink without a profile of its own. The remedy is for an interface without addresses:
// NetworkManager would replace those of any other interface.
func refuseUnconfigured(
	facts Facts, link hostnet.Link, device networkmanager.Device, remedy report.Remedy, format string, args ...any,
) error {
	if len(link.Stable()) > 0 {
		priority, err := chooseAutoconnectPriority(facts, link.Name, "802-3-ethernet")
		if err != nil {
			return err
		}
		remedy = keepRemedy(facts, link, device, priority)
	}
	return Refuse(remedy, format, args...)
}

// refuseUnconfirmedAddresses refuses an uplink whose addresses are not confirmed: while it is
// being activated, or after a rollback that has kept them (see
// Driver.holdAddress in package migrate).
func refuseUnconfirmedAddresses(uplink string) error {
	return Refuse(ReapplyWithLease(uplink)+" # once its DHCP server or router responds, then rerun the command",
		"the uplink %s is still being activated: NetworkManager waits for a response of a DHCP server or router", uplink)
}

// ReapplyWithLease returns the command that removes the addresses that a rollback has kept, and does nothing before
// there is a lease, because the host would have no address then.
func ReapplyWithLease(uplink string) report.Remedy {
	return report.Remedyf("nmcli -f DHCP4 device show %s | grep -q ip_address && nmcli device reapply %s", uplink, uplink)
}

// refuseMember refuses an uplink that is a port of another interface.
func refuseMember(facts Facts, link hostnet.Link) error {
	master, _ := facts.linkAt(link.Master)
	if master.Kind == "vrf" {
		return Refuse(otherInterfaceRemedy,
			"the uplink %s is in the VRF %s, whose routes kubelet and OVN-Kubernetes do not use; remove it from the VRF, or "+
				"select another interface", link.Name, master.Name)
	}
	return Refuse(report.Remedy("ip -d link show "+link.Name),
		"the uplink %s is a port of %s; select the upper interface with --bridge-interface",
		link.Name, cmp.Or(master.Name, "another interface"))
}

// otherInterfaceRemedy is the remedy when the interface itself cannot be used.
const otherInterfaceRemedy = "hcp-node-agent join --bridge-interface NAME"

const infiniBand = "an InfiniBand interface, or above one, which carries no Ethernet frames and cannot be a port of " +
	"a bridge; select an Ethernet interface"

// refuseKind refuses the types of interface that cannot be a port of a bridge,
// or whose migration is not supported.
func refuseKind(link hostnet.Link, device networkmanager.Device) error {
	why, remedy := "", report.Remedy(otherInterfaceRemedy)
	switch device.Type {
	case networkmanager.Ethernet, networkmanager.Veth, networkmanager.VLAN, networkmanager.Bond:
	case networkmanager.WiFi:
		why = "a wireless interface, which cannot be a port of a bridge because access points drop frames of other MAC " +
			"addresses; select a wired interface"
	case networkmanager.InfiniBand:
		why = infiniBand
	case networkmanager.Bridge:
		why, remedy = "a Linux bridge, which cannot be a port of Open vSwitch; configure its addresses on the lower "+
			"interface instead", "bridge link show"
	case networkmanager.Team:
		why, remedy = "a team, which is deprecated in RHEL; convert it to a bond first (for example with team2bond)",
			report.Remedyf("teamdctl %s config dump actual >/tmp/team.json && team2bond --config=/tmp/team.json --rename=bond0 "+
				"# prints commands that create a bond without addresses", link.Name)
	case networkmanager.MACVLAN:
		why, remedy = "a macvlan interface, which receives only frames for its own MAC address; select its lower interface",
			report.Remedy("ip -d link show "+link.Name)
	case networkmanager.TUN, networkmanager.WireGuard, networkmanager.IPTunnel:
		why = "a tunnel; select an interface on the network that the nodes share"
	case networkmanager.Dummy:
		why = "a dummy interface, which has no network connection; select a physical interface"
	case networkmanager.PPP:
		why = "a point-to-point link, which carries no Ethernet frames; select an Ethernet interface"
	default:
		if device.Type != 0 {
			why = fmt.Sprintf("a device of the unsupported NetworkManager type %d; select another interface, or create "+
				"br-ex manually (nmstate, configure-ovs.sh) and rerun the command", device.Type)
		} else if link.Kind == "ppp" { // NetworkManager reports it under the name of the modem or of the NIC below
			why = "a point-to-point link, which carries no Ethernet frames; select an Ethernet interface"
		}
	}
	if mac, err := net.ParseMAC(link.MAC); why == "" && err == nil && len(mac) != 6 {
		why = infiniBand // such as a bond of InfiniBand interfaces, or a VLAN over one
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
		return Refuse("ip link set dev INTERFACE name NEW_NAME",
			"the interface name %q contains a special character of systemd or the shell; rename the interface", name)
	}
	return nil
}
