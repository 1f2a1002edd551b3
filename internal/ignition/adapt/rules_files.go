// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

const networkManagerConfig = "/etc/NetworkManager/conf.d/*.conf" // NetworkManager's own settings

// secretRules returns the rules for files with secrets, which also apply to the tree of an image.
func secretRules() []rule {
	return []rule{{
		name: "secret-of-users", kind: kindFile, match: []string{"/etc/profile.d/*"}, when: allOf(isPackageMode, isReadableByOthers, hasSecret), effect: effectReport,
		reason: "contains a password or key that every user of this host can read; the mode is kept, because the shells of all users read the file",
	}, {
		name: "secret-mode", kind: kindFile, effect: effectOwnerOnly, match: []string{"/**"},
		when:   allOf(isHostedPackageMode, isReadableByOthers, hasSecret),
		reason: "contains a password, key or token that every user of this host could read with the mode in the payload",
	}}
}

// fileRules returns the rules for files, directories and links.
func fileRules() []rule {
	return slices.Concat([]rule{{
		name: "encapsulated-config", kind: kindFile, match: []string{ignition.MachineConfigPath}, effect: effectSkip,
		reason: "marks a pending first boot, whose end units wait for; its operating system settings are listed as unsupported",
	}}, secretRules(), []rule{{
		name: "secret-readable", kind: kindFile, match: []string{"/**"},
		when: allOf(isPackageMode, isStandaloneCluster, isReadableByOthers, hasSecret), effect: effectReport,
		reason: "contains a password, key or token that every user of this host can read; the mode is kept, because the machine-config-daemon of this cluster compares it",
	}, {
		name: "ifcfg-profiles", kind: kindFile, match: []string{networkManagerConfig}, when: allOf(isPackageMode, excludesIfcfgPlugin), effect: effectReport,
		reason: "disables ifcfg files: NetworkManager ignores profiles in /etc/sysconfig/network-scripts from its next start",
		remedy: "nmcli connection migrate # if the host has profiles in /etc/sysconfig/network-scripts",
	}, {
		name: "dhcp-identity", kind: kindFile, match: []string{networkManagerConfig}, when: allOf(isPackageMode, setsAnyKey("ipv6.dhcp-duid", "ipv6.dhcp-iaid", "ipv4.dhcp-client-id")), effect: effectReport,
		reason: "changes the DHCP client ID of other interfaces than br-ex from the next activation of a profile: their leased addresses can change",
	}, {
		name: "unmanaged-devices", kind: kindFile, match: []string{networkManagerConfig}, when: allOf(isPackageMode, setsAnyKey("managed", "unmanaged-devices")), effect: effectReport,
		reason: "NetworkManager does not manage the interfaces that it lists from its next start; releases list br0, tun0 and every veth: " +
			"a bridge or tunnel of this host with such a name would lose its profile",
	}, {
		name: "network-profile", kind: kindFile, match: []string{"/etc/NetworkManager/system-connections/*"}, when: isPackageMode, effect: effectReport,
		reason: "read by NetworkManager at its next start or nmcli connection reload; a profile for the uplink conflicts with br-ex",
	}, {
		name: "nmstate-state", kind: kindFile, match: []string{"/etc/nmstate/*.yml"}, when: isPackageMode, effect: effectReport,
		reason: "nmstate.service applies it to the network of this host at the next boot",
	}, {
		name: "container-policy", kind: kindFile, when: isPackageMode, effect: effectReport,
		match:  []string{"/etc/containers/registries.conf", "/etc/containers/policy.json", "/etc/containers/storage.conf"},
		reason: "also affects podman and skopeo on this host; leave restores the original",
	}, {
		name: "manager-settings", kind: kindFile, match: []string{"/etc/systemd/system.conf.d/*.conf"}, when: isPackageMode, effect: effectReport,
		reason: "applied by systemd at the next boot, or with systemctl daemon-reexec",
		loader: configLoader{"systemd", "", "join runs systemctl daemon-reexec, so that systemd applies it"},
	}, {
		name: "audit-rules", kind: kindFile, match: []string{"/etc/audit/rules.d/*.rules"}, when: isPackageMode, effect: effectReport,
		reason: "loaded into the kernel at the next boot, or with augenrules --load",
		loader: configLoader{"audit rules", "auditd.service", "join loads the audit rules into the kernel"},
	}, {
		name: "tmpfiles", kind: kindFile, match: []string{"/etc/tmpfiles.d/*.conf"}, when: isPackageMode, effect: effectReport,
		reason: "applied at the next boot, or with systemd-tmpfiles --create",
	}, {
		name: "clock", kind: kindFile, match: []string{"/etc/chrony.conf", "/etc/chrony.d/*"}, when: isPackageMode, effect: effectReport,
		reason: "applied by chronyd at the next boot, or with systemctl restart chronyd",
		loader: configLoader{"chronyd", "chronyd.service", "join restarts chronyd, so that it applies the file"},
	}, {
		name: "keepalived", kind: kindFile, match: []string{"/etc/kubernetes/manifests/keepalived.yaml"}, when: isPackageMode, effect: effectReport,
		reason: "serves virtual IP addresses of the cluster, which requires a node in their network; otherwise exclude it: --payload-drop /etc/kubernetes/manifests/keepalived.yaml",
	}})
}
