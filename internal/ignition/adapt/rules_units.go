// SPDX-License-Identifier: Apache-2.0

package adapt

// unitRules returns the rules for units and their drop-ins.
func unitRules() []rule {
	return []rule{{
		name: "os-image", kind: kindUnit, effect: effectSkip, when: isHostedPackageMode,
		match: []string{"machine-config-daemon-pull.service", "machine-config-daemon-firstboot.service", "firstboot-osupdate.target"},
		reason: "replaces the operating system with an image, which is impossible in package mode, and would disable all dnf repositories; " +
			"units that are ordered after it do not require it",
	}, {
		name: "node-ip", kind: kindUnit, match: []string{"nodeip-configuration.service"}, when: isHostedPackageMode, effect: effectInstallOnly,
		reason: "pulls an image of the release with podman before the network is final; the agent selects and writes the node address itself",
	}, {
		name: "node-ip-container", kind: kindUnit, match: []string{"nodeip-configuration.service"}, when: allOf(isPackageMode, isStandaloneCluster, runsPodman), effect: effectReport,
		reason: "delays kubelet at every boot until a container of the release has run with podman (dnf install podman), although the agent has already written the node address; " +
			"kept, because the machine-config-daemon of this cluster compares it",
	}, {
		name: "wait-for-node-ip", kind: kindUnit, match: []string{"wait-for-primary-ip.service", "wait-for-node-ip.service"}, when: isHostedPackageMode, effect: effectInstallOnly,
		reason: "waits without a timeout, and before kubelet, for a file that only nodeip-configuration.service writes, if configure-ovs.sh did not create br-ex",
	}, {
		name: "nmstate-bridge", kind: kindUnit, match: []string{"nmstate-configuration.service"}, when: isHostedPackageMode, effect: effectInstallOnly,
		reason: "only replaces br-ex by a bridge from /etc/nmstate/openshift; on this host the agent creates br-ex",
	}, {
		name: "nmstate", kind: kindUnit, match: []string{"nmstate.service"}, when: allOf(isHostedPackageMode, lacksNmstateFiles), effect: effectInstallOnly,
		reason: "the payload has no file in /etc/nmstate to apply, and the package of the unit may not be installed",
	}, {
		name: "ovs-configuration-old", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: allOf(isPackageMode, ignoresAppliedMarker), effect: effectAdd,
		reason: "its script (before 4.16) would delete br-ex at every boot; because the agent creates br-ex, a drop-in limits the unit to clearing ovn-remote",
		add:    replaceWithClearRemote,
	}, {
		name: "ovs-configuration-remote", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: allOf(isPackageMode, keepsOVNRemote), effect: effectAdd,
		reason: "does not change br-ex once " + appliedMarker + " exists, which the agent writes after it created br-ex; a drop-in clears ovn-remote, which the script does not",
		add:    clearRemoteBeforeStart,
	}, {
		name: "ovs-configuration", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: isPackageMode, effect: effectReport,
		reason: "does not change br-ex once " + appliedMarker + " exists, which the agent writes after it created br-ex",
	}, {
		name: "initrd-state", kind: kindUnit, match: []string{"NetworkManager-clean-initrd-state.service"}, when: isPackageMode, effect: effectReport,
		reason: "has no effect unless /var/lib/mco/nm-clean-initrd-state exists",
	}, {
		name: "kubelet-cleanup", kind: kindUnit, match: []string{"kubelet-cleanup.service"}, when: isPackageMode, effect: effectReport,
		reason: "removes kubelet's state of the previous boot; runs only at boot",
	}, {
		name: "hostname", kind: kindUnit, match: []string{"node-valid-hostname.service"}, when: isPackageMode, effect: effectReport,
		reason: "sets the static host name (/etc/hostname) to the current one at every boot, which leave does not revert",
	}, {
		name: "api-address", kind: kindUnit, match: []string{"apiserver-ip.service"}, when: hasExecStop, effect: effectAdd,
		reason: "its script fails if the internal API address already exists; a drop-in removes the address first", add: runStopBeforeStart,
	}, {
		name: "unmask", kind: kindUnit, match: []string{"*"}, when: unmasksHostUnit, effect: effectRemove,
		reason: "its mask on this host is removed, because the payload enables it",
	}, {
		name: "not-installed-extended", kind: kindUnit, match: []string{"*"}, when: allOf(isStandaloneCluster, isNotInstalled, hasDropins), effect: effectNothingToEnable, needsUnits: true,
		reason: "not installed on this host and not required; its drop-ins are still written, because the machine-config-daemon of this cluster checks them",
	}, {
		name: "not-installed", kind: kindUnit, match: []string{"*"}, when: isNotInstalled, effect: effectSkip, needsUnits: true,
		reason: "not installed on this host and not required; there is nothing to extend or to disable",
	}, {
		name: "masked", kind: kindUnit, match: []string{"*"}, when: enabledAnd(isMasked), effect: effectNothingToEnable,
		reason: "both enabled and masked; the mask takes precedence",
	}, {
		name: "mask", kind: kindUnit, match: []string{"*"}, when: masksHostUnit, effect: effectReport,
		reason: "masked; if running, it continues until the next boot or systemctl stop",
	}, {
		name: "template", kind: kindUnit, match: []string{"*@.*"}, when: enabledAnd(lacksDefaultInstance), effect: effectNothingToEnable,
		reason: "template without a default instance; there is nothing to enable",
	}, {
		name: "no-install-section", kind: kindUnit, match: []string{"*"}, when: enabledAnd(lacksInstallSection), effect: effectNothingToEnable,
		reason: "enabled, but has no [Install] section, so enabling it has no effect",
	}, {
		name: "static", kind: kindUnit, match: []string{"*"}, when: isStatic, effect: effectNothingToEnable,
		reason: "the host's unit has no [Install] section; it is started by units that require it",
	}, {
		name: "secret-in-drop-in", kind: kindDropin, match: []string{"*/*"}, when: allOf(isPackageMode, hasSecret), effect: effectReport,
		reason: "contains a password or token, and every user of this host can read the environment of a unit (systemctl show)",
	}, {
		name: "empty-drop-in", kind: kindDropin, match: []string{"*/*"}, when: func(_ *planner, e subject) bool { return e.content == "" }, effect: effectRemove,
		reason: "empty, which means for the machine-config-operator that it must not exist",
	}}
}
