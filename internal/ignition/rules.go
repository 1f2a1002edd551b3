package ignition

import (
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// entryKind is a kind of entry that rules are for.
type entryKind string

const (
	kindFile   entryKind = "file"    // matched by path
	kindUnit   entryKind = "unit"    // matched by name
	kindDropin entryKind = "drop-in" // matched by its own name
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
	case removed, ownerOnly, installOnly:
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
	match  []string                       // shell patterns
	when   func(s *scene, e subject) bool // nil: always
	effect effect
	reason string
	late   bool // needs to know which units there will be

	add func(s *scene, u types.Unit) []ledger.Change // files that come with it
}

// rules is the table. On a standalone cluster the machine-config-daemon
// compares every file and unit with the payload, and degrades the pool when
// they differ: there only things are added, under names of our own, except for
// the encapsulated config, which MCD's own path for RHEL removes too.
func rules() []rule {
	return append(append(fileRules(), unitRules()...), hostRules()...)
}

func fileRules() []rule {
	return []rule{{
		name: "encapsulated-config", kind: kindFile, match: []string{encapsulatedPath}, effect: leaveOut,
		reason: "it marks a first boot that is still to come, and units wait for it to go; what it asks of the operating system is listed as unmet",
	}, {
		name: "secret-mode", kind: kindFile, effect: ownerOnly,
		match: []string{kubeconfigPath, "/etc/mcs-machine-config-content.json", "/var/lib/kubelet/config.json"},
		when:  both(hostedPackageMode, readableByOthers), reason: "it holds a credential of the cluster, and the payload lets every user of the host read it",
	}, {
		name: "ifcfg-profiles", kind: kindFile, match: []string{"/etc/NetworkManager/conf.d/*.conf"}, when: both(packageMode, dropsIfcfg), effect: mention,
		reason: "NetworkManager reads no ifcfg files with it: profiles that are kept in /etc/sysconfig/network-scripts vanish at its next start (nmcli connection migrate)",
	}, {
		name: "core-user-absent", kind: kindUser, match: []string{coreUser}, when: noUser(coreUser), effect: leaveOut,
		reason: "this host has no such user: it belongs to OpenShift images, and its SSH keys open nothing here",
	}, {
		name: "core-user", kind: kindUser, match: []string{coreUser}, effect: leaveOut,
		reason: "accounts of this host stay as they are; add the SSH keys of the NodePool by hand if they are wanted",
	}}
}

func unitRules() []rule {
	return []rule{{
		name: "os-image", kind: kindUnit, effect: leaveOut, when: hostedPackageMode,
		match: []string{"machine-config-daemon-pull.service", "machine-config-daemon-firstboot.service", "firstboot-osupdate.target"},
		reason: "it replaces the operating system by an image, which a host of packages cannot do, and would disable all dnf repositories on the way; " +
			"the units that order themselves after it do not need it",
	}, {
		name: "node-ip", kind: kindUnit, match: []string{"nodeip-configuration.service"}, when: hostedPackageMode, effect: installOnly,
		reason: "it pulls an image of the release with podman before the network is final; the agent chooses and writes the node's address itself",
	}, {
		name: "wait-for-node-ip", kind: kindUnit, match: []string{"wait-for-primary-ip.service", "wait-for-node-ip.service"}, when: hostedPackageMode, effect: installOnly,
		reason: "with a br-ex that is not configure-ovs.sh's it waits, without end and before kubelet, for a file that only nodeip-configuration.service writes",
	}, {
		name: "nmstate-bridge", kind: kindUnit, match: []string{"nmstate-configuration.service"}, when: hostedPackageMode, effect: installOnly,
		reason: "all that it can do is delete br-ex for one described in /etc/nmstate/openshift; here the agent makes br-ex",
	}, {
		name: "nmstate", kind: kindUnit, match: []string{"nmstate.service"}, when: both(hostedPackageMode, noNmstateFiles), effect: installOnly,
		reason: "the payload has no file in /etc/nmstate for it to apply, and it needs a package that a host may lack",
	}, {
		name: "ovs-configuration-old", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: both(packageMode, noAppliedSwitch), effect: addition,
		reason: "its script, of a release before 4.16, would tear br-ex down at every boot; a drop-in makes it do nothing, for the agent makes br-ex", add: disarmUnit,
	}, {
		name: "ovs-configuration", kind: kindUnit, match: []string{"ovs-configuration.service"}, when: packageMode, effect: mention,
		reason: "it leaves br-ex alone as soon as " + appliedSwitch + " exists, which the agent writes when it has made br-ex",
	}, {
		name: "initrd-state", kind: kindUnit, match: []string{"NetworkManager-clean-initrd-state.service"}, when: packageMode, effect: mention,
		reason: "it does nothing unless somebody makes /var/lib/mco/nm-clean-initrd-state",
	}, {
		name: "api-address", kind: kindUnit, match: []string{"apiserver-ip.service"}, when: stops, effect: addition,
		reason: "its script fails when the API's internal address is there already; a drop-in removes the address first", add: stopBeforeStart,
	}, {
		name: "unmask", kind: kindUnit, match: []string{"*"}, when: unmasks, effect: removed,
		reason: "its mask on this host goes, as the payload wants it", add: unmask,
	}, {
		name: "not-installed", kind: kindUnit, match: []string{"*"}, when: notInstalled, effect: leaveOut, late: true,
		reason: "the host has no such unit and nothing needs it, so that there is nothing to extend or to disable",
	}, {
		name: "masked", kind: kindUnit, match: []string{"*"}, when: enabledAnd(masked), effect: nothingToEnable,
		reason: "it is enabled and masked; the mask wins",
	}, {
		name: "template", kind: kindUnit, match: []string{"*@.*"}, when: enabledAnd(noDefaultInstance), effect: nothingToEnable,
		reason: "it is a template without a default instance, so that there is nothing to enable",
	}, {
		name: "no-install-section", kind: kindUnit, match: []string{"*"}, when: enabledAnd(notInstallable), effect: nothingToEnable,
		reason: "it is enabled, but has no [Install] section that would say when to start it",
	}, {
		name: "static", kind: kindUnit, match: []string{"*"}, when: static, effect: nothingToEnable,
		reason: "the host's unit has no [Install] section: it is started by units that need it",
	}, {
		name: "empty-drop-in", kind: kindDropin, match: []string{"*"}, when: func(_ *scene, e subject) bool { return e.content == "" }, effect: removed,
		reason: "it is empty, which is how the machine-config-operator says that it shall not exist",
	}}
}

func hostRules() []rule {
	return []rule{{
		name: "kernel-parameters", kind: kindHost, when: both(packageMode, runsKubelet), effect: addition, add: kernelParameters,
		reason: "kubelet does not start on other kernel flags (protectKernelDefaults) and pod traffic must be forwarded; OpenShift images bring these, RHEL does not",
	}, {
		name: "journal", kind: kindHost, when: both(packageMode, standalone), effect: addition, add: persistentJournal,
		reason: "the machine-config-daemon counts boots in the journal, which RHEL does not keep over a reboot",
	}}
}
