package ignition

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	// ownDropin is the name of drop-ins that the agent adds; no release has one
	// of this name, so that MCD does not look at it.
	ownDropin = "90-hcp-node-agent.conf"

	// kernelPath sorts after 99-sysctl.conf, which is /etc/sysctl.conf, where
	// hardening guides switch forwarding off.
	kernelPath = "/etc/sysctl.d/99-zz-hcp-node-agent.conf"

	journalPath = "/etc/systemd/journald.conf.d/90-hcp-node-agent.conf"
)

const writtenBy = "# Written by hcp-node-agent, and removed by hcp-node-agent leave.\n"

// clearRemoteOnly keeps a unit that others require (a mask would make
// kubelet-dependencies.target fail), and has it do what a newer script does
// where br-ex is not its own. Once in a boot: later, ovn-controller is in use of
// what would be cleared.
func clearRemoteOnly(_ *scene, u types.Unit) []ledger.Change {
	lines := "[Service]\nExecStart=\nExecStart=-" + openvswitch.ClearRemote + "\nRemainAfterExit=yes\n"
	return []ledger.Change{unitFile(dropinPath(u.Name, ownDropin), writtenBy+lines)}
}

// clearRemoteBefore clears ovn-remote before the unit's own script runs.
func clearRemoteBefore(_ *scene, u types.Unit) []ledger.Change {
	lines := "[Service]\nExecStartPre=-" + openvswitch.ClearRemote + "\n"
	return []ledger.Change{unitFile(dropinPath(u.Name, ownDropin), writtenBy+lines)}
}

// stopBeforeStart runs what a unit does when it stops before it starts.
func stopBeforeStart(_ *scene, u types.Unit) []ledger.Change {
	lines := writtenBy + "[Service]\n"
	for _, command := range section(u, "Service", "ExecStop") {
		lines += "ExecStartPre=-" + strings.TrimLeft(command, "-") + "\n"
	}
	return []ledger.Change{unitFile(dropinPath(u.Name, ownDropin), lines)}
}

// kernelParameters writes the sysctls that kubelet and the pods' network need.
// The flags are those that kubelet compares at its start (setupKernelTunables in
// pkg/kubelet/cm/container_manager_linux.go); a release that does not protect
// them sets them itself. Forwarding was set by openshift-ansible.
func kernelParameters(s *scene, _ types.Unit) []ledger.Change {
	config, _ := s.payload.kubelet() // Adapt has refused one that cannot be read
	content := ""
	if config.ProtectKernelDefaults {
		content += "# kubelet refuses to start on other values than these (protectKernelDefaults).\n" +
			"kernel.keys.root_maxbytes = 25000000\n" +
			"kernel.keys.root_maxkeys = 1000000\n" +
			"kernel.panic = 10\n" +
			"kernel.panic_on_oops = 1\n" +
			"vm.overcommit_memory = 1\n" +
			"vm.panic_on_oom = 0\n"
	}
	if !s.isForwardingManaged() {
		content += "# The traffic of pods is forwarded by this host.\n"
		if s.hasIPv6(config) {
			content += "net.ipv6.conf.all.forwarding = 1\n"
		}
		content += "net.ipv4.ip_forward = 1\n"
	}
	if content == "" {
		return nil
	}
	return []ledger.Change{unitFile(kernelPath, writtenBy+content)}
}

// isForwardingManaged reports whether OVN-Kubernetes manages forwarding. From
// 4.16 on cluster-network-operator has ovnkube-controller set the sysctls at
// each start: 0 with --disable-forwarding, unless ipForwarding is Global.
func (s *scene) isForwardingManaged() bool {
	u, found := s.unit("ovs-configuration.service")
	return found && enabled(u) && configureOVS(s).applied >= 0
}

// forwardingSysctls are those that OVN-Kubernetes sets.
func forwardingSysctls() []string {
	return []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}
}

// isForwarding reports whether a sysctl is one that OVN-Kubernetes sets, or
// another name of it.
func isForwarding(name string) bool {
	return name == "net.ipv4.conf.all.forwarding" || slices.Contains(forwardingSysctls(), name)
}

// hasIPv6 reports whether the cluster's network has IPv6, as its only family or
// as one of two. The cluster DNS has an address of the first family alone;
// kubelet of a dual-stack cluster gets several node addresses.
func (s *scene) hasIPv6(config kubeletConfig) bool {
	for _, dns := range config.ClusterDNS {
		if address, err := netip.ParseAddr(dns); err == nil && address.Is6() {
			return true
		}
	}
	u, _ := s.unit(KubeletUnit)
	return slices.ContainsFunc(section(u, "Service", "ExecStart"), func(command string) bool {
		return strings.Contains(command, "--node-ip=${KUBELET_NODE_IPS}")
	})
}

func persistentJournal(*scene, types.Unit) []ledger.Change {
	return []ledger.Change{unitFile(journalPath, writtenBy+"[Journal]\nStorage=persistent\n")}
}
