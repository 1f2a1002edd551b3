// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
)

// BootRollbackUnit restores the uplink at boot if a migration is unfinished. See package migrate.
const BootRollbackUnit = "hcp-node-agent-network-boot-rollback.service"

const (
	// appliedFile makes configure-ovs.sh leave br-ex unchanged, from OpenShift
	// 4.16.
	appliedFile = "/etc/nmstate/openshift/applied"
	// sysctlFile keeps the kernel from configuring br-ex itself as soon as the
	// interface exists: systemd's udev rules apply the sysctl.d settings of an
	// interface when it is added.
	sysctlFile = "/etc/sysctl.d/80-hcp-node-agent-br-ex.conf"
	// savedUplinkFile is where configure-ovs.sh saves the name of the uplink.
	savedUplinkFile = "/var/lib/ovnk/iface_default_hint"
)

// Files returns the files that other components read on a host whose uplink is
// in br-ex. They state that the bridge is already configured, and which
// addresses the node has. configure-ovs.sh and nodeip-configuration.service
// write the same files. Files fails if br-ex does not carry the host's traffic.
//
// nmstate-configuration.service deletes br-ex at the next boot unless appliedFile has the content of the file that
// declares it. A nil declared means that no file does.
func Files(facts Facts, declared *Declared) ([]ledger.Change, error) {
	uplink, ok := BridgedUplink(facts)
	if !ok {
		return nil, errors.New("br-ex does not exist or has no default route of the host")
	}
	node, err := nodeAddresses(facts)
	if err != nil {
		return nil, err
	}
	applied := "# br-ex was created by hcp-node-agent\n"
	if declared != nil {
		applied = declared.Content
	}
	var changes []ledger.Change
	if !IsCreatedAtBoot(facts) {
		changes = append(changes,
			ledger.FileChange(appliedFile, "ovs-configuration.service must not change br-ex", applied))
	}
	changes = append(changes, ledger.FileChange(savedUplinkFile, "name of the uplink of br-ex", uplink+"\n"))
	if profile, managed := facts.Profile(ProfileUUID(facts.MachineID, BridgeIPProfile)); managed {
		changes = append(changes, sysctlFiles(profile.Settings)...)
	}
	return append(changes, nodeip.Files(node)...), nil
}

// IsCreatedAtBoot reports whether br-ex carries the host's traffic and its profile is lost at a boot: configure-ovs.sh
// then creates br-ex again, unless something prevents it, and the host would be unreachable.
func IsCreatedAtBoot(facts Facts) bool {
	if _, ok := BridgedUplink(facts); !ok {
		return false
	}
	device, _ := facts.Device(BridgeName)
	profile, found := facts.Profile(device.Active.UUID)
	return found && profile.IsVolatile() && !profile.External
}

// NodeAddresses returns the addresses of the node, which can be none.
func (f Facts) NodeAddresses() nodeip.Addresses {
	node := nodeip.Choose(f.Links, f.Routes, f.NodeIPHint, f.NodeIPs)
	node.IPv6First = f.NodeIPv6First
	return node
}

// nodeAddresses returns the node's addresses, and fails if there are none.
func nodeAddresses(facts Facts) (nodeip.Addresses, error) {
	node := facts.NodeAddresses()
	if !node.Primary().IsValid() {
		return node, Refuse("ip -br address # and NODEIP_HINT in /etc/default/nodeip-configuration",
			"no address of this host is suitable as the node IP (NODEIP_HINT: %q)", facts.NodeIPHint)
	}
	return node, nil
}

// FilesBeforeMigration returns the files that must exist before br-ex does.
func (m Migration) FilesBeforeMigration() []ledger.Change {
	if m.AlreadyAttached {
		return nil
	}
	return sysctlFiles(m.Profiles.BridgeIP)
}

var bridgeSysctls = []string{"accept_ra = 0", "accept_ra_defrtr = 0", "accept_ra_pinfo = 0", "addr_gen_mode = 1"}

// sysctlFiles returns the sysctls that make the kernel ignore router
// advertisements on the agent's br-ex, unless its profile leaves IPv6 to the
// kernel.
//
// NetworkManager processes router advertisements itself. To set an interface's
// token, though, it enables them in the kernel for a moment, including router
// solicitations (_l3_commit_ip6_token in nm-l3cfg.c, 1.42). What the kernel
// configures from a response remains beside NetworkManager's configuration.
// NetworkManager also takes over the link-local address, and disables and
// enables IPv6 for that if the kernel still manages it (_dev_addrgenmode6_set
// in nm-device.c).
func sysctlFiles(bridgeIP networkmanager.Settings) []ledger.Change {
	if bridgeIP.Method(networkmanager.IPv6) == "ignore" {
		return nil
	}
	const reason = "only NetworkManager processes router advertisements on br-ex"
	content := "# " + reason + "\n"
	for _, setting := range bridgeSysctls {
		content += "-net.ipv6.conf." + BridgeName + "." + setting + "\n"
	}
	return []ledger.Change{ledger.FileChange(sysctlFile, reason, content)}
}
