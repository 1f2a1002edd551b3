package ignition

import (
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// entryKind is a kind of entry that rules are for.
type entryKind string

const (
	kindFile   entryKind = "file"    // matched by path; directories and links too
	kindUnit   entryKind = "unit"    // matched by name
	kindDropin entryKind = "drop-in" // matched by UNIT/DROP-IN
	kindUser   entryKind = "user"    // matched by name
	kindHost   entryKind = "host"    // matches nothing of the payload: the host as a whole
)

// effect is what a rule does to an entry.
type effect string

const (
	leaveOut        effect = "leave out"
	removed         effect = "removed"           // the host must not have it either
	ownerOnly       effect = "owner only"        // nobody but the owner may read it
	installOnly     effect = "install only"      // a unit whose files are written and that is not enabled
	nothingToEnable effect = "nothing to enable" // likewise, but enabling would do nothing anyway
	keysOnly        effect = "keys only"         // an account of the host: nothing of it changes but the SSH keys
	mention         effect = "mention"
	addition        effect = "addition"
)

// keepsDisabled tells whether a unit is not enabled, whatever the payload says.
func (e effect) keepsDisabled() bool { return e == installOnly || e == nothingToEnable }

// action is how the effect is called in a plan.
func (e effect) action() Action {
	switch e {
	case leaveOut:
		return Skip
	case removed, ownerOnly, installOnly, keysOnly:
		return Change
	case addition:
		return Add
	}
	return Report
}

// A rule says what becomes of an entry that a host cannot take as it is. The
// first rule of the table that is for an entry decides; entries without one
// are taken as they are.
type rule struct {
	name   string
	kind   entryKind
	match  []string                       // patterns of package glob
	when   func(s *scene, e subject) bool // nil: always
	effect effect
	reason string
	late   bool // needs to know which units there will be

	add func(s *scene, u types.Unit) []ledger.Change // files that come with it; nil where there is only something to say
}

// rules is the table. On a standalone cluster the machine-config-daemon
// compares every file and unit with the payload, and degrades the pool when
// they differ: there only things are added, under names of our own, except for
// the encapsulated config, which MCD's own path for RHEL removes too.
func rules() []rule {
	return slices.Concat(fileRules(), userRules(), unitRules(), hostRules())
}

// userRules are those for accounts.
func userRules() []rule {
	return []rule{{
		name: "core-user-absent", kind: kindUser, match: []string{coreUser}, when: noUser(coreUser), effect: leaveOut,
		reason: "this host has no such user: it belongs to OpenShift images, and its SSH keys open nothing here",
	}, {
		name: "core-user", kind: kindUser, match: []string{coreUser}, effect: keysOnly,
		reason: "the account is the host's own: the SSH keys of the NodePool are added to its own, and nothing else of it changes",
	}}
}

func hostRules() []rule {
	return []rule{{
		name: "kernel-parameters", kind: kindHost, when: both(packageMode, runsKubelet), effect: addition, add: kernelParameters,
		reason: "kubelet requires these sysctls (protectKernelDefaults), and pod traffic is forwarded where OVN-Kubernetes does not set that itself; OpenShift images set them, RHEL does not",
	}, {
		name: "journal", kind: kindHost, when: both(packageMode, standalone), effect: addition, add: persistentJournal,
		reason: "the machine-config-daemon counts boots in the journal, which RHEL does not keep over a reboot",
	}, {
		name: "selinux-booleans", kind: kindHost, when: both(packageMode, both(runsKubelet, selinux)), effect: mention,
		reason: "pods that run systemd, and volumes on SMB and CephFS, need SELinux booleans that RHEL has off: " +
			"setsebool -P container_manage_cgroup on virt_use_samba on container_use_cephfs on",
	}, {
		name: "relabel", kind: kindHost, when: both(packageMode, both(runsKubelet, selinux)), effect: mention,
		reason: "a relabel of the whole host (fixfiles, /.autorelabel) would go through the volumes of pods: " +
			"a line /var/lib/kubelet in /etc/selinux/fixfiles_exclude_dirs keeps it out",
	}}
}
