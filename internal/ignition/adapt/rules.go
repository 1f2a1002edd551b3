// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// entryKind is a kind of entry that rules apply to.
type entryKind string

const (
	kindFile   entryKind = "file"    // matched by path; also directories and links
	kindUnit   entryKind = "unit"    // matched by name
	kindDropin entryKind = "drop-in" // matched by UNIT/DROP-IN
	kindUser   entryKind = "user"    // matched by name
	kindHost   entryKind = "host"    // the host as a whole; matches no entry of the payload
)

// effect is the effect of a rule on an entry.
type effect string

const (
	effectSkip            effect = "skip"
	effectRemove          effect = "removed"           // the host must not have the entry, either
	effectOwnerOnly       effect = "owner only"        // readable only by the owner
	effectInstallOnly     effect = "install only"      // the files of a unit are written, but the unit is not enabled
	effectNothingToEnable effect = "nothing to enable" // as effectInstallOnly; enabling would have no effect
	effectKeysOnly        effect = "keys only"         // an account of the host, of which only the SSH keys change
	effectReport          effect = "mention"
	effectAdd             effect = "addition"
)

// keepsDisabled reports whether a unit is not enabled even if the payload enables it.
func (e effect) keepsDisabled() bool { return e == effectInstallOnly || e == effectNothingToEnable }

// action returns the action of a note about the effect.
func (e effect) action() Action {
	switch e {
	case effectSkip:
		return Skip
	case effectRemove, effectOwnerOnly, effectInstallOnly, effectKeysOnly:
		return Change
	case effectAdd:
		return Add
	}
	return Report
}

// A rule decides about an entry that a host cannot apply unchanged. The first rule of the table
// that applies to an entry decides. Entries without a rule are applied unchanged.
type rule struct {
	name       string
	kind       entryKind
	match      []string                             // patterns of package glob
	when       func(p *planner, about subject) bool // nil: always
	effect     effect
	reason     string
	remedy     report.Remedy // for the administrator; "" for none
	needsUnits bool          // depends on the planned units
	loader     configLoader  // the service that loads the files; zero for none

	add func(p *planner, u types.Unit) []ledger.Change // returns additional files; nil for a note only
}

// rules returns the table. On a standalone cluster, the machine-config-daemon (MCD) compares
// every file and unit with the payload, and degrades the pool if they differ. Therefore rules
// for standalone clusters only add files with names of the agent. The exception is the
// encapsulated config, which MCD's own code for RHEL removes, too.
func rules() []rule {
	return slices.Concat(fileRules(), userRules(), unitRules(), hostRules())
}

// userRules returns the rules for accounts.
func userRules() []rule {
	return []rule{{
		name: "core-user-absent", kind: kindUser, match: []string{coreUser}, when: lacksUser(coreUser), effect: effectSkip,
		reason: "user core does not exist on this host; its SSH keys are skipped",
	}, {
		name: "core-user", kind: kindUser, match: []string{coreUser}, effect: effectKeysOnly,
		reason: "the user exists on this host: the SSH keys of the NodePool are added, and nothing else is changed",
	}}
}

func hostRules() []rule {
	return []rule{{
		name: "kernel-parameters", kind: kindHost, when: allOf(isPackageMode, runsKubelet), effect: effectAdd, add: nodeSysctls,
		reason: "kubelet requires these sysctls (protectKernelDefaults), and IP forwarding is enabled unless OVN-Kubernetes sets it; OpenShift images set them, RHEL does not",
	}, {
		name: "journal", kind: kindHost, when: allOf(isPackageMode, isStandaloneCluster), effect: effectAdd, add: persistentJournal,
		reason: "the machine-config-daemon counts boots in the journal, which RHEL does not keep across reboots",
	}, {
		name: "selinux-booleans", kind: kindHost, when: allOf(isPackageMode, runsKubelet, isSELinuxEnabled, reportsHostSettings), effect: effectReport,
		reason: "pods that run systemd, and volumes on SMB and CephFS, require SELinux booleans that RHEL disables",
		remedy: seBooleansCommand(),
	}, {
		name: "relabel", kind: kindHost, when: allOf(isPackageMode, runsKubelet, isSELinuxEnabled), effect: effectReport,
		reason: "relabeling the whole host (fixfiles, /.autorelabel) would include the volumes of pods: " +
			"exclude them with a line /var/lib/kubelet in /etc/selinux/fixfiles_exclude_dirs",
	}}
}
