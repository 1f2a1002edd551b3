package ovs

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
)

const (
	// appliedFile makes configure-ovs.sh leave br-ex alone, from OpenShift 4.16.
	appliedFile = "/etc/nmstate/openshift/applied"
	// routerFile keeps the kernel from configuring br-ex by itself, from the
	// moment at which the interface is there: systemd's udev rules apply what
	// sysctl.d says of an interface when it is added.
	routerFile = "/etc/sysctl.d/80-hcp-node-agent-br-ex.conf"
	// uplinkHintFile is where configure-ovs.sh remembers the uplink.
	uplinkHintFile = "/var/lib/ovnk/iface_default_hint"
)

// Files are what others look for on a host whose uplink is in br-ex: that the
// bridge is not theirs to make, and which addresses the node has. They are
// what configure-ovs.sh and nodeip-configuration.service leave behind. Call it
// when br-ex is there.
func Files(facts Facts) ([]ledger.Change, error) {
	uplink, ok := BridgedUplink(facts)
	if !ok {
		return nil, fmt.Errorf("br-ex is not there, so there is nothing to tell others about it")
	}
	node := nodeip.Choose(facts.Links, facts.Routes, facts.NodeIPHint)
	if !node.Primary().IsValid() {
		return nil, Refuse("ip -br address # and NODEIP_HINT in /etc/default/nodeip-configuration",
			"no address of this host can be the node's address (hint: %q)", facts.NodeIPHint)
	}
	changes := []ledger.Change{
		fileChange(appliedFile, "ovs-configuration.service must leave br-ex alone", "# br-ex was made by hcp-node-agent\n"),
		fileChange(uplinkHintFile, "names the uplink of br-ex", uplink+"\n"),
	}
	if profile, ours := facts.Profile(ProfileUUID(facts.MachineID, BridgeIPProfile)); ours {
		changes = append(changes, routerFiles(profile.Settings)...)
	}
	return append(changes, nodeip.Files(node)...), nil
}

// Before are the files that must be there when br-ex comes.
func (m Migration) Before() []ledger.Change {
	if m.AlreadyThere {
		return nil
	}
	return routerFiles(m.Profiles.BridgeIP)
}

// routerFiles keep the kernel from hearing routers on a br-ex of ours, unless
// its profile leaves IPv6 to the kernel. NetworkManager hears them itself, but
// to set an interface's token it lets the kernel listen for a moment, and even
// ask (_l3_commit_ip6_token in nm-l3cfg.c, 1.42): what the kernel makes of the
// answer stays beside NetworkManager's. It also takes the link-local address
// upon itself, and switches IPv6 off and on for that when the kernel has it
// still (_dev_addrgenmode6_set in nm-device.c).
func routerFiles(bridgeIP networkmanager.Settings) []ledger.Change {
	if bridgeIP.Method(networkmanager.IPv6) == "ignore" {
		return nil
	}
	const why = "NetworkManager alone hears routers on br-ex"
	content := "# " + why + "\n"
	for _, setting := range []string{"accept_ra = 0", "accept_ra_defrtr = 0", "accept_ra_pinfo = 0", "addr_gen_mode = 1"} {
		content += "-net.ipv6.conf." + BridgeName + "." + setting + "\n"
	}
	return []ledger.Change{fileChange(routerFile, why, content)}
}

func fileChange(path, why, content string) ledger.Change {
	return ledger.Change{Kind: ledger.File, Target: path, Reason: why, Desired: ledger.FileState([]byte(content), 0o644)}
}
