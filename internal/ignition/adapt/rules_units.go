package adapt

// unitRules returns the rules for units and their drop-ins.
func unitRules() []rule {
	return []rule{{
		name: "os-image", kind: kindUnit, effect: effectSkip, when: isHostedPackageMode,
		match: []string{"machine-config-daemon-pull.service", "machine-config-daemon-firstboot.service", "firstboot-osupdate.target"},
		reason: "it replaces the operating system by an image, which a host of packages cannot do, and would disable all dnf repositories on the way; " +
			"the units that order themselves after it do not need it",
	}, {
		name: "node-ip", kind: kindUnit, match: []string{"nodeip-configuration.service"}, when: isHostedPackageMode, effect: effectInstallOnly,
		reason: "it pulls an image of the release with podman before the network is final; the agent chooses and writes the node's address itself",
	}, {
		name: "node-ip-container", kind: kindUnit, match: []string{"nodeip-configuration.service"}, when: allOf(isPackageMode, isStandaloneCluster, runsPodman), effect: effectReport,
		reason: "kubelet waits at every boot until it has run a container of the release with podman, which must be installed (dnf install podman), though the agent has told the node's address by then; " +
			"it stays, as the machine-config-daemon of this cluster compares it",
	}, {
		name: "wait-for-node-ip", kind: kindUnit, match: []string{"wait-for-primary-ip.service", "wait-for-node-ip.service"}, when: isHostedPackageMode, effect: effectInstallOnly,
		reason: "with a br-ex that is not configure-ovs.sh's it waits, without end and before kubelet, for a file that only nodeip-configuration.service writes",
	}, {
		name: "nmstate-bridge", kind: kindUnit, match: []string{"nmstate-configuration.service"}, when: isHostedPackageMode, effect: effectInstallOnly,
		reason: "all that it can do is delete br-ex for one described in /etc/nmstate/openshift; here the agent makes br-ex",
	}, {
		name: "nmstate", kind: kindUnit, match: []string{"nmstate.service"}, when: allOf(isHostedPackageMode, lacksNmstateFiles), effect: effectInstallOnly,
		reason: "the payload has no file in /etc/nmstate for it to apply, and it needs a package that a host may lack",
	}, {
		name: "ovs-configuration-old", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: allOf(isPackageMode, ignoresAppliedMarker), effect: effectAdd,
		reason: "its script, of a release before 4.16, would tear br-ex down at every boot; for the agent makes br-ex, a drop-in has it clear ovn-remote and do nothing else",
		add:    replaceWithClearRemote,
	}, {
		name: "ovs-configuration-remote", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: allOf(isPackageMode, keepsOVNRemote), effect: effectAdd,
		reason: "it leaves br-ex alone as soon as " + appliedMarker + " exists, which the agent writes when it has made br-ex, and does not clear ovn-remote before; a drop-in does",
		add:    clearRemoteBeforeStart,
	}, {
		name: "ovs-configuration", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: isPackageMode, effect: effectReport,
		reason: "it leaves br-ex alone as soon as " + appliedMarker + " exists, which the agent writes when it has made br-ex",
	}, {
		name: "initrd-state", kind: kindUnit, match: []string{"NetworkManager-clean-initrd-state.service"}, when: isPackageMode, effect: effectReport,
		reason: "it does nothing unless somebody makes /var/lib/mco/nm-clean-initrd-state",
	}, {
		name: "kubelet-cleanup", kind: kindUnit, match: []string{"kubelet-cleanup.service"}, when: isPackageMode, effect: effectReport,
		reason: "it removes what kubelet kept of the last boot, and runs only at boots",
	}, {
		name: "hostname", kind: kindUnit, match: []string{"node-valid-hostname.service"}, when: isPackageMode, effect: effectReport,
		reason: "at every boot it makes the name that the host has then its static one (/etc/hostname), which leave does not take back",
	}, {
		name: "api-address", kind: kindUnit, match: []string{"apiserver-ip.service"}, when: hasExecStop, effect: effectAdd,
		reason: "its script fails when the API's internal address is there already; a drop-in removes the address first", add: runStopBeforeStart,
	}, {
		name: "unmask", kind: kindUnit, match: []string{"*"}, when: unmasksHostUnit, effect: effectRemove,
		reason: "its mask on this host goes, as the payload wants it",
	}, {
		name: "not-installed-extended", kind: kindUnit, match: []string{"*"}, when: allOf(isStandaloneCluster, isNotInstalled, hasDropins), effect: effectNothingToEnable, needsUnits: true,
		reason: "the host has no such unit and nothing needs it; its drop-ins are written all the same, as the machine-config-daemon of this cluster looks for them",
	}, {
		name: "not-installed", kind: kindUnit, match: []string{"*"}, when: isNotInstalled, effect: effectSkip, needsUnits: true,
		reason: "the host has no such unit and nothing needs it, so that there is nothing to extend or to disable",
	}, {
		name: "masked", kind: kindUnit, match: []string{"*"}, when: enabledAnd(isMasked), effect: effectNothingToEnable,
		reason: "it is enabled and masked; the mask wins",
	}, {
		name: "mask", kind: kindUnit, match: []string{"*"}, when: masksHostUnit, effect: effectReport,
		reason: "it is masked from now on; if it runs, it does so until the next boot or systemctl stop",
	}, {
		name: "template", kind: kindUnit, match: []string{"*@.*"}, when: enabledAnd(lacksDefaultInstance), effect: effectNothingToEnable,
		reason: "it is a template without a default instance, so that there is nothing to enable",
	}, {
		name: "no-install-section", kind: kindUnit, match: []string{"*"}, when: enabledAnd(lacksInstallSection), effect: effectNothingToEnable,
		reason: "it is enabled, but has no [Install] section that would say when to start it",
	}, {
		name: "static", kind: kindUnit, match: []string{"*"}, when: isStatic, effect: effectNothingToEnable,
		reason: "the host's unit has no [Install] section: it is started by units that need it",
	}, {
		name: "secret-in-drop-in", kind: kindDropin, match: []string{"*/*"}, when: allOf(isPackageMode, hasSecret), effect: effectReport,
		reason: "it holds a password or token, and systemd shows the environment of a unit to every user of this host (systemctl show)",
	}, {
		name: "empty-drop-in", kind: kindDropin, match: []string{"*/*"}, when: func(_ *planner, e subject) bool { return e.content == "" }, effect: effectRemove,
		reason: "it is empty, which is how the machine-config-operator says that it shall not exist",
	}}
}
