// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

const (
	// dropinName is the name of drop-ins that the agent adds. No OpenShift release has a drop-in
	// of this name, so the machine-config-daemon (MCD) does not compare it.
	dropinName = "90-hcp-node-agent.conf"

	// sysctlPath sorts after 99-sysctl.conf, a link to /etc/sysctl.conf, in which hardening
	// guides disable IP forwarding.
	sysctlPath = "/etc/sysctl.d/99-zz-hcp-node-agent.conf"

	journaldPath = "/etc/systemd/journald.conf.d/90-hcp-node-agent.conf"

	// imageUpdateService updates the image of a bootc host and reboots the host. A timer of the same name, which RHEL
	// enables, starts it (bootc, systemd/bootc-fetch-apply-updates.service).
	imageUpdateService = "bootc-fetch-apply-updates.service"
)

const fileHeader = "# Written by hcp-node-agent; removed by hcp-node-agent leave.\n"

// agentDropin returns the change that adds a drop-in to a unit.
func agentDropin(u types.Unit, lines string) []ledger.Change {
	return []ledger.Change{unitFileChange(dropInPath(u.Name, dropinName), fileHeader+lines)}
}

// replaceWithClearRemote replaces the command of a unit by the one that clears ovn-remote, which newer
// scripts run if br-ex exists already. The unit is not masked, because
// kubelet-dependencies.target requires it. RemainAfterExit limits the command to once per boot:
// later, ovn-controller uses the setting.
func replaceWithClearRemote(_ *planner, u types.Unit) []ledger.Change {
	lines := "[Service]\nExecStart=\nExecStart=-" + openvswitch.ClearRemoteCommand + "\nRemainAfterExit=yes\n"
	return agentDropin(u, lines)
}

// clearRemoteBeforeStart clears ovn-remote before the unit's own script runs.
func clearRemoteBeforeStart(_ *planner, u types.Unit) []ledger.Change {
	lines := "[Service]\nExecStartPre=-" + openvswitch.ClearRemoteCommand + "\n"
	return agentDropin(u, lines)
}

// runStopBeforeStart adds a drop-in that runs the ExecStop commands of a unit before it starts.
func runStopBeforeStart(_ *planner, u types.Unit) []ledger.Change {
	lines := "[Service]\n"
	for _, command := range sectionValues(u, "Service", "ExecStop") {
		lines += "ExecStartPre=-" + strings.TrimLeft(command, "-") + "\n"
	}
	return agentDropin(u, lines)
}

// nodeSysctls returns the file with the sysctls that kubelet and the pod network need. The
// kubelet sysctls are those that kubelet compares at its start (setupKernelTunables in
// pkg/kubelet/cm/container_manager_linux.go). Without protectKernelDefaults, kubelet sets them
// itself. IP forwarding was set by openshift-ansible.
func nodeSysctls(p *planner, _ types.Unit) []ledger.Change {
	content := ""
	if p.kubelet.ProtectKernelDefaults {
		content += "# kubelet requires these values to start (protectKernelDefaults).\n" +
			"kernel.keys.root_maxbytes = 25000000\n" +
			"kernel.keys.root_maxkeys = 1000000\n" +
			"kernel.panic = 10\n" +
			"kernel.panic_on_oops = 1\n" +
			"vm.overcommit_memory = 1\n" +
			"vm.panic_on_oom = 0\n"
	}
	if !p.isForwardingManaged() {
		content += "# This host forwards the traffic of pods.\n"
		if hasIPv6(p.kubelet, p.units) {
			content += "net.ipv6.conf.all.forwarding = 1\n"
		}
		content += "net.ipv4.ip_forward = 1\n"
	}
	if content == "" {
		return nil
	}
	return []ledger.Change{unitFileChange(sysctlPath, fileHeader+content)}
}

// isForwardingManaged reports whether OVN-Kubernetes manages IP forwarding. From OpenShift 4.16
// on, cluster-network-operator makes ovnkube-controller set the sysctls at each start: to 0 with
// --disable-forwarding, unless ipForwarding is Global.
func (p *planner) isForwardingManaged() bool {
	u, found := p.units.find("ovs-configuration.service")
	return found && isEnabled(u) && ovsScriptLine(p.payload, appliedMarker) >= 0
}

// forwardingSysctls returns the sysctls that OVN-Kubernetes sets.
func forwardingSysctls() []string {
	return []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}
}

// isForwardingSysctl reports whether name is a sysctl that OVN-Kubernetes sets, or an alias of one.
func isForwardingSysctl(name string) bool {
	return name == "net.ipv4.conf.all.forwarding" || slices.Contains(forwardingSysctls(), name)
}

// hasIPv6 reports whether the cluster network is IPv6 or dual-stack. The address of the cluster
// DNS has the first IP family only. In a dual-stack cluster, kubelet gets several node
// addresses.
func hasIPv6(kubelet ignition.KubeletConfig, units unitSet) bool {
	if slices.ContainsFunc(kubelet.DNSAddresses(), netip.Addr.Is6) {
		return true
	}
	u, _ := units.find(kubeletUnit)
	return slices.ContainsFunc(sectionValues(u, "Service", "ExecStart"), func(command string) bool {
		return strings.Contains(command, "--node-ip=${KUBELET_NODE_IPS}")
	})
}

func persistentJournal(*planner, types.Unit) []ledger.Change {
	return []ledger.Change{unitFileChange(journaldPath, fileHeader+"[Journal]\nStorage=persistent\n")}
}

// disableImageUpdates keeps bootc's timer from updating the image and rebooting the node while pods run, also if an
// administrator starts its service. Unlike a mask, a condition applies to a timer that is running, and its end does not
// have to start the timer again.
func disableImageUpdates(*planner, types.Unit) []ledger.Change {
	lines := "# The service would reboot the node without draining it. To update the image of this host:\n" +
		"# bootc upgrade && hcp-node-agent maintenance --no-update --reboot\n" +
		"[Unit]\nConditionPathExists=!/\n"
	return []ledger.Change{unitFileChange(dropInPath(imageUpdateService, dropinName), fileHeader+lines)}
}

// holdKubelet adds the drop-in that the user data of a RHEL CoreOS host with a join token contains, too.
func holdKubelet(*planner, types.Unit) []ledger.Change {
	return []ledger.Change{unitFileChange(rhcos.KubeletDropInPath, rhcos.KubeletDropIn)}
}
