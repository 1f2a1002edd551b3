package adapt

import "github.com/hcp-node-agent/hcp-node-agent/internal/ignition"

const networkManagerConfig = "/etc/NetworkManager/conf.d/*.conf" // NetworkManager's own settings

// fileRules returns the rules for files, directories and links.
func fileRules() []rule {
	return []rule{{
		name: "encapsulated-config", kind: kindFile, match: []string{ignition.MachineConfigPath}, effect: effectSkip,
		reason: "it marks a first boot that is still to come, and units wait for it to go; what it asks of the operating system is listed as unmet",
	}, {
		name: "secret-of-users", kind: kindFile, match: []string{"/etc/profile.d/*"}, when: allOf(isPackageMode, isReadableByOthers, hasSecret), effect: effectReport,
		reason: "it holds a password or key that every user of this host can read; its mode stays, as the shells of all users read the file",
	}, {
		name: "secret-mode", kind: kindFile, effect: effectOwnerOnly, match: []string{"/**"},
		when:   allOf(isHostedPackageMode, isReadableByOthers, hasSecret),
		reason: "it holds a password, key or token, and the payload lets every user of the host read it",
	}, {
		name: "secret-readable", kind: kindFile, match: []string{"/**"},
		when: allOf(isPackageMode, isStandaloneCluster, isReadableByOthers, hasSecret), effect: effectReport,
		reason: "it holds a password, key or token that every user of this host can read; its mode stays, as the machine-config-daemon of this cluster compares it",
	}, {
		name: "ifcfg-profiles", kind: kindFile, match: []string{networkManagerConfig}, when: allOf(isPackageMode, excludesIfcfgPlugin), effect: effectReport,
		reason: "NetworkManager reads no ifcfg files with it: profiles that are kept in /etc/sysconfig/network-scripts vanish at its next start (nmcli connection migrate)",
	}, {
		name: "dhcp-identity", kind: kindFile, match: []string{networkManagerConfig}, when: allOf(isPackageMode, setsAnyKey("ipv6.dhcp-duid", "ipv6.dhcp-iaid", "ipv4.dhcp-client-id")), effect: effectReport,
		reason: "NetworkManager shows DHCP servers another identity with it, from the next activation of a profile on: an address that was leased under the old one can change",
	}, {
		name: "unmanaged-devices", kind: kindFile, match: []string{networkManagerConfig}, when: allOf(isPackageMode, setsAnyKey("managed", "unmanaged-devices")), effect: effectReport,
		reason: "from its next start on NetworkManager leaves the interfaces alone that are named in it; a release names br0, tun0 and every veth: " +
			"a bridge or tunnel of this host by such a name would lose its profile",
	}, {
		name: "network-profile", kind: kindFile, match: []string{"/etc/NetworkManager/system-connections/*"}, when: isPackageMode, effect: effectReport,
		reason: "NetworkManager reads it at its next start or `nmcli connection reload`; one for the uplink competes with br-ex",
	}, {
		name: "nmstate-state", kind: kindFile, match: []string{"/etc/nmstate/*.yml"}, when: isPackageMode, effect: effectReport,
		reason: "nmstate.service brings the network of this host to it at the next boot",
	}, {
		name: "container-policy", kind: kindFile, when: isPackageMode, effect: effectReport,
		match:  []string{"/etc/containers/registries.conf", "/etc/containers/policy.json", "/etc/containers/storage.conf"},
		reason: "podman and skopeo of this host go by it too; what was there comes back with leave",
	}, {
		name: "manager-settings", kind: kindFile, match: []string{"/etc/systemd/system.conf.d/*.conf"}, when: isPackageMode, effect: effectReport,
		reason: "systemd goes by it from the next boot on, or after systemctl daemon-reexec",
	}, {
		name: "audit-rules", kind: kindFile, match: []string{"/etc/audit/rules.d/*.rules"}, when: isPackageMode, effect: effectReport,
		reason: "the kernel has it from the next boot on, or after augenrules --load",
	}, {
		name: "tmpfiles", kind: kindFile, match: []string{"/etc/tmpfiles.d/*.conf"}, when: isPackageMode, effect: effectReport,
		reason: "what it makes and removes is made and removed at the next boot, or by systemd-tmpfiles --create",
	}, {
		name: "clock", kind: kindFile, match: []string{"/etc/chrony.conf", "/etc/chrony.d/*"}, when: isPackageMode, effect: effectReport,
		reason: "chronyd goes by it from the next boot on, or after systemctl restart chronyd",
	}, {
		name: "keepalived", kind: kindFile, match: []string{"/etc/kubernetes/manifests/keepalived.yaml"}, when: isPackageMode, effect: effectReport,
		reason: "it holds virtual addresses of the cluster, for which a node must be in their network; on a worker elsewhere leave it out: --payload-drop /etc/kubernetes/manifests/keepalived.yaml",
	}}
}
